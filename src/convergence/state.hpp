// What a long simulation has finished, in a file that it goes on from.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/saved_state.hpp"
#include "convergence/experiment.hpp"

namespace headgauge {

// Of one scale: what errors are divided by, and the errors of the reference itself.
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
  // `identity` is everything that the numbers depend on; no path: nothing is kept.
  StateFile(std::string path, nlohmann::ordered_json identity);

  // What a run of the same identity left behind, or nothing. BadInputError for a file of another
  // one, or that is no such file: SavedState.
  std::optional<SweepState> load(std::size_t scales, std::size_t points, int replicates) const;
  // Atomically.
  void save(const SweepState& state) const;

 private:
  SavedState file_;
};

}  // namespace headgauge
