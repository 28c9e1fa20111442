#include "headgauge/results.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "headgauge/text.hpp"
#include "results/declared.hpp"

namespace headgauge {
namespace {

std::string joined(const std::vector<std::string>& names) {
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

Timings& Timings::operator+=(const Timings& other) {
  for (const auto stage :
       {&Timings::forward, &Timings::measure, &Timings::sampling, &Timings::original,
        &Timings::scans, &Timings::total, &Timings::converge}) {
    if (this->*stage && other.*stage) *(this->*stage) += *(other.*stage);
  }
  return *this;
}

std::string_view verdict_text(Verdict verdict) {
  constexpr std::array texts = {"holds", "does not hold", "cannot tell", "not tested"};
  return texts.at(static_cast<std::size_t>(verdict));
}

std::string_view command_text(Command command) {
  constexpr std::array texts = {"",
                                "scan",
                                "compare",
                                "converge",
                                "converge --synthetic",
                                "reproduce limits",
                                "reproduce tokens",
                                "diff",
                                "validate",
                                "plan",
                                "series",
                                "monitor"};
  return texts.at(static_cast<std::size_t>(command));
}

std::string_view kind_text(FactSource::Kind kind) {
  constexpr std::array texts = {
      "cell",           "standard_error", "low",   "high",       "p",        "coordinate",
      "setting",        "flags",          "heads", "heads_with", "constant", "derived",
      "critical_range", "length_limit"};
  return texts.at(static_cast<std::size_t>(kind));
}

std::vector<std::string> Results::metric_names() const {
  std::vector<std::string> names;
  for (const auto& [name, array] : metrics) names.push_back(name);
  return names;
}

void Results::set_coord(const std::string& name, Coordinate labels) {
  Dimension dim(name, std::move(labels));
  for (auto& [metric, array] : metrics) array.relabel(dim);
  const auto known = std::ranges::find(coords, name, &Dimension::name);
  if (known == coords.end()) {
    coords.push_back(std::move(dim));
  } else {
    *known = std::move(dim);
  }
}

const Dimension* Results::coord(std::string_view name) const {
  const auto found = std::ranges::find(coords, name, &Dimension::name);
  return found == coords.end() ? nullptr : &*found;
}

const Dimension& Results::require_coord(std::string_view name) const {
  if (const Dimension* dim = coord(name)) return *dim;
  std::vector<std::string> known;
  for (const Dimension& dim : coords) known.push_back(dim.name());
  throw UsageError(fault("results", fmt::format("a coordinate \"{}\"", name), "none",
                         "the coordinates are " + joined(known)));
}

LabelledArray& Results::add_metric(const std::string& name, const std::vector<std::string>& dims,
                                   std::string unit) {
  std::vector<Dimension> labelled;
  for (const std::string& dim : dims) labelled.push_back(require_coord(dim));
  LabelledArray array(std::move(labelled), std::move(unit));
  give_meaning(name, array);
  return add_metric(name, std::move(array));
}

LabelledArray& Results::add_metric(const std::string& name, LabelledArray array) {
  if (metric(name) != nullptr) {
    throw UsageError(fault("results", "a metric not yet there", "\"" + name + "\" twice", ""));
  }
  for (const Dimension& dim : array.dims()) {
    const Dimension* known = coord(dim.name());
    if (known == nullptr) {
      coords.push_back(dim);
    } else if (*known != dim) {
      throw UsageError(fault(
          "results", fmt::format("the labels of \"{}\" that are there", dim.name()), "others", ""));
    }
  }
  return metrics.emplace_back(name, std::move(array)).second;
}

const LabelledArray* Results::metric(std::string_view name) const {
  const auto found = std::ranges::find_if(metrics, [&](const auto& m) { return m.first == name; });
  return found == metrics.end() ? nullptr : &found->second;
}

LabelledArray* Results::metric(std::string_view name) {
  return const_cast<LabelledArray*>(std::as_const(*this).metric(name));
}

const LabelledArray& Results::require_metric(std::string_view name) const {
  if (const LabelledArray* array = metric(name)) return *array;
  const std::vector<std::string> known = metric_names();
  throw UsageError(fault("results", fmt::format("a metric \"{}\"", name),
                         "none" + metric_hint(name, known), "the metrics are " + joined(known)));
}

}  // namespace headgauge
