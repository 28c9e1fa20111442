#include "reproduce/experiments.hpp"

#include <fmt/format.h>

#include "headgauge/catalogue.hpp"

namespace headgauge {
namespace {

// Keeps only paper B's metrics and those of the model's change, and drops paper A's.
bool wanted(const Results& experiment, const std::string& metric) {
  if (experiment.coord("layer") == nullptr) return true;
  const MetricInfo* info = find_metric_info(metric);
  return info != nullptr && (info->group == "convergence" || info->group == "counterfactual");
}

std::string renamed(const std::string& dim, const std::string& name) {
  return dim == "layer" || dim == "head" ? dim : fmt::format("{}_{}", name, dim);
}

}  // namespace

void add_experiment(const Results& experiment, const std::string& name, Results& whole) {
  for (const auto& [metric, array] : experiment.metrics) {
    if (!wanted(experiment, metric)) continue;
    LabelledArray copy = array;
    for (const std::string& dim : array.dim_names()) copy = copy.renamed(dim, renamed(dim, name));
    whole.add_metric(experiment_metric(name, metric), std::move(copy));
  }
  for (const std::string& notice : experiment.notices) {
    whole.notices.push_back(fmt::format("{}: {}", name, notice));
  }
  const nlohmann::ordered_json timings = to_json(experiment.timings);
  for (const auto& [stage, seconds] : timings.items()) {
    whole.timings.others[fmt::format("{}_{}", name, stage)] = seconds;
  }
  whole.settings[name] = experiment.settings;
}

}  // namespace headgauge
