#include "reproduce/experiments.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <optional>
#include <utility>

#include "headgauge/catalogue.hpp"
#include "headgauge/cells.hpp"
#include "headgauge/metric_names.hpp"

namespace headgauge {
namespace {

constexpr int kFewestRandomKeys = 4;
constexpr int kBatches = 8;  // batches of rows in the second half of the context
constexpr int kKeysOfOneHead = 32;
constexpr const char* kTaken[] = {metric::kl, metric::loss_change, metric::output_change};

std::string pattern_of(int window, int random) {
  return fmt::format("bigbird:window={},random={},global=0", window, random);
}

CompareOptions compare_options(const ScanOptions& scan) {
  CompareOptions compare;
  compare.scan = scan;
  compare.scan.measures = {"model"};
  return compare;
}

// Returns a metric of a comparison without cases: all of it is of the text.
LabelledArray of_text(const LabelledArray& metric) {
  return metric.has_dim(kOutcome) ? metric.sel(kOutcome, kText) : metric;
}

Results without_metrics(const Results& results) {
  Results left = results;
  left.metrics.clear();
  left.coords.clear();
  for (const char* coord : {"layer", "head"}) {
    left.set_coord(coord, results.require_coord(coord).labels());
  }
  return left;
}

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

std::vector<int> numbers_of_random_keys(int length) {
  std::vector<int> numbers;
  for (int n = kFewestRandomKeys; n <= length / 2; n *= 2) numbers.push_back(n);
  return numbers;
}

CompareOptions all_heads_options(int length, const ScanOptions& scan) {
  CompareOptions compare = compare_options(scan);
  compare.scan.lengths.clear();
  const int rows = length / (2 * kBatches);
  for (int batch = kBatches; batch >= 0; --batch) {
    compare.scan.lengths.push_back(length - batch * rows);
  }
  for (const int window : kKeyWindows) {
    for (const int random : numbers_of_random_keys(length)) {
      compare.patterns.push_back(pattern_of(window, random));
    }
  }
  return compare;
}

CompareOptions each_head_options(int length, const ScanOptions& scan) {
  CompareOptions compare = compare_options(scan);
  compare.scan.lengths = {length};
  compare.patterns = {pattern_of(1, kKeysOfOneHead)};
  compare.each = Each::head;
  return compare;
}

Results by_random_keys(const Results& comparison) {
  const Dimension& patterns = comparison.require_coord("pattern");
  const std::vector<int> numbers = numbers_of_random_keys(longest_length(comparison).value());
  // Returns the index of each pattern, by window and number.
  std::vector<std::vector<std::optional<Index>>> places;
  for (const int window : kKeyWindows) {
    auto& row = places.emplace_back();
    for (const int random : numbers) row.push_back(patterns.find(pattern_of(window, random)));
  }
  const Dimension window("window",
                         std::vector<double>(std::begin(kKeyWindows), std::end(kKeyWindows)));
  const Dimension random("random", std::vector<double>(numbers.begin(), numbers.end()));
  Results results = without_metrics(comparison);
  for (const char* name : kTaken) {
    if (comparison.metric(name) == nullptr) continue;
    const LabelledArray metric = of_text(*comparison.metric(name));
    std::vector<Dimension> dims;
    for (const Dimension& dim : metric.dims()) {
      if (dim.name() == "pattern") dims.push_back(window);
      dims.push_back(dim.name() == "pattern" ? random : dim);
    }
    const auto axis = std::ranges::find(dims, window.name(), &Dimension::name) - dims.begin();
    LabelledArray changed = undefined_like(metric, std::move(dims));
    changed.each([&](std::span<const Index> cell, std::size_t) {
      const auto place = places[cell[axis]][cell[axis + 1]];
      if (!place) return;
      std::vector<Index> from(cell.begin(), cell.end());
      from.erase(from.begin() + axis);
      from[axis] = *place;
      changed.set(cell, metric.at(from));
    });
    results.add_metric(name, std::move(changed));
  }
  return results;
}

Results by_head(const Results& comparison) {
  Results results = without_metrics(comparison);
  const auto place = comparison.require_coord("pattern").find(pattern_of(1, kKeysOfOneHead));
  for (const char* name : kTaken) {
    const LabelledArray* metric = comparison.metric(name);
    if (metric == nullptr || !place) continue;
    results.add_metric(name, of_text(*metric).isel("pattern", *place).isel("length", -1));
  }
  return results;
}

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
