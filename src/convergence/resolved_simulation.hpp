// Resolves and checks the options of a simulation.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "convergence/experiment.hpp"
#include "headgauge/synthetic.hpp"

namespace headgauge {

struct ResolvedSimulation {
  SyntheticOptions options;  // all defaults filled in
  std::unique_ptr<Normalizer> normalizer;
  Simulated experiment;
  std::vector<double> factors;   // factors of the experiment's map, by scale
  std::vector<double> horizons;  // by scale, including 1/sqrt(d) and a temperature
  bool softmax = true;           // enables the streamed path
  bool exact = true;             // the limit is known
  std::vector<std::string> notices;

  bool exact_reference() const { return options.reference == "exact"; }
  // Returns everything that the numbers depend on.
  nlohmann::ordered_json identity() const;
  nlohmann::ordered_json settings() const;
};

ResolvedSimulation resolve_simulation(const SyntheticOptions& options);

}  // namespace headgauge
