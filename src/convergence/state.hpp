// The finished parts of a long simulation, in a file from which a later run continues.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/saved_state.hpp"
#include "convergence/experiment.hpp"

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

class StateFile {
 public:
  // `identity` is everything that the numbers depend on; without a path nothing is kept.
  StateFile(std::string path, nlohmann::ordered_json identity);

  // Loads what a run of the same identity saved; nothing if there is none. Throws BadInputError if
  // the file is invalid or has another identity (SavedState).
  std::optional<SweepState> load(std::size_t scales, std::size_t points, int replicates) const;
  // Saves atomically.
  void save(const SweepState& state) const;

 private:
  SavedState file_;
};

}  // namespace headgauge
