// From the options of a simulation to what is simulated, with everything filled in and checked.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "convergence/experiment.hpp"
#include "headgauge/synthetic.hpp"

namespace headgauge {

struct SyntheticPlan {
  SyntheticOptions options;  // nothing left to be filled in
  std::unique_ptr<Normalizer> normalizer;
  Simulated experiment;
  std::vector<double> factors;   // of the experiment's map, by scale
  std::vector<double> horizons;  // by scale, 1/sqrt(d) and a temperature included
  bool softmax = true;           // and the streamed path with it
  bool exact = true;             // the limit is known
  std::vector<std::string> notices;

  bool exact_reference() const { return options.reference == "exact"; }
  // Everything that the numbers depend on.
  nlohmann::ordered_json identity() const;
  nlohmann::ordered_json settings() const;
};

SyntheticPlan plan_simulation(const SyntheticOptions& options);

}  // namespace headgauge
