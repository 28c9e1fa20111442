// The finished parts of a simulation: a later run continues from them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "convergence/experiment.hpp"
#include "headgauge/journal.hpp"

namespace headgauge {

// The units of the errors of one scale, and the errors of the reference itself.
struct ScaleReference {
  double mean_unit = 0, covariance_unit = 0;
  double mean_error = 0, covariance_error = 0;
  std::string method;
};

struct SweepState {
  std::vector<std::optional<ScaleReference>> references;      // by scale
  std::vector<std::vector<std::optional<CellErrors>>> cells;  // by scale and point
};

// Finds what the journal has. Throws DamagedPartError for errors that are no norms, and for another
// number of replicates.
SweepState find_sweep(Journal& journal, std::size_t scales, std::size_t points, int replicates);
void keep_reference(Journal& journal, std::size_t scale, const ScaleReference& reference);
void keep_cell(Journal& journal, std::size_t scale, std::size_t point, const CellErrors& errors);

}  // namespace headgauge
