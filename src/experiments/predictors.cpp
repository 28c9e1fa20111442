#include "experiments/predictors.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "headgauge/flags.hpp"
#include "headgauge/validate.hpp"
#include "results/declared.hpp"

namespace headgauge {
namespace {

// If a dim has more labels, its labels are not separate predictors.
constexpr Index kFewLabels = 4;

constexpr std::array<std::pair<const char*, double>, 3> kChosenLabels = {
    {{"temperature", 1.0}, {"epsilon", 1e-3}, {"tolerance", 0.05}}};

// Returns the indices of a dim that are predictors; none if the metric is not used.
std::vector<Index> places_of(const Results& results, const Dimension& dim) {
  if (dim.name() == "position") return {};
  if (dim.name() == "length") return {dim.size() - 1};
  if (dim.name() == "forecast_length") return {0};
  std::optional<Index> chosen;
  if (dim.name() == "top_n") {
    chosen = judged_top_n(results);
    return chosen ? std::vector{*chosen} : std::vector<Index>{};
  }
  for (const auto& [name, label] : kChosenLabels) {
    if (dim.name() != name) continue;
    chosen = dim.find(label);
    return chosen ? std::vector{*chosen} : std::vector<Index>{};
  }
  std::vector<Index> all;
  if (dim.size() > kFewLabels) return all;
  for (Index place = 0; place < dim.size(); ++place) all.push_back(place);
  return all;
}

// Adds a predictor for every selected cell of `array`, whose dims begin with layer and head.
void add_cells(const Results& results, const LabelledArray& array, std::string name,
               std::span<const HeadName> heads, std::vector<Predictor>& predictors) {
  if (array.dims().size() > 2) {
    const Dimension& dim = array.dims()[2];
    for (const Index place : places_of(results, dim)) {
      const bool one_of_many = !std::ranges::any_of(
          std::array{"length", "forecast_length", "top_n", "temperature", "epsilon", "tolerance"},
          [&](const char* known) { return dim.name() == known; });
      add_cells(results, array.isel(dim.name(), place),
                one_of_many ? name + " " + dim.name() + "=" + dim.label(place) : name, heads,
                predictors);
    }
    return;
  }
  Predictor predictor{std::move(name), {}};
  for (const HeadName& head : heads) {
    const double value = array({head.layer_index, head.head_index});
    // If none was found up to the largest value tried, it counts as larger.
    predictor.values.push_back(array.is_none(value) ? std::numeric_limits<double>::infinity()
                                                    : value);
  }
  predictors.push_back(std::move(predictor));
}

}  // namespace

std::vector<Predictor> predictors_of(const Results& results, std::span<const HeadName> heads) {
  std::vector<Predictor> predictors;
  for (const auto& [name, array] : results.metrics) {
    if (!array.of_heads() || array.identifier) continue;
    add_cells(results, array, name, heads, predictors);
  }
  for (const FlagInfo& info : flag_infos()) {
    if (info.role) continue;  // the share behind the role is a predictor
    Predictor predictor{kFlagPredictor + info.name, {}};
    for (const HeadName& head : heads) {
      const auto same = [&](const Flag& flag) {
        return flag.name == info.name && flag.layer == head.layer && flag.head == head.head;
      };
      predictor.values.push_back(std::ranges::any_of(results.flags, same) ? 1.0 : 0.0);
    }
    predictors.push_back(std::move(predictor));
  }
  Predictor layer{"layer", {}};
  for (const HeadName& head : heads) layer.values.push_back(head.layer);
  predictors.push_back(std::move(layer));
  return predictors;
}

}  // namespace headgauge
