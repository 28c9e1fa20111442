#include "headgauge/results.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
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
  if (verdict == Verdict::holds) return "holds";
  if (verdict == Verdict::does_not_hold) return "does not hold";
  return verdict == Verdict::cannot_tell ? "cannot tell" : "not tested";
}

std::string_view command_text(Command command) {
  switch (command) {
    case Command::unknown:
      return "";
    case Command::scan:
      return "scan";
    case Command::compare:
      return "compare";
    case Command::converge:
      return "converge";
    case Command::simulate:
      return "converge --synthetic";
    case Command::reproduce_limits:
      return "reproduce limits";
    case Command::reproduce_tokens:
      return "reproduce tokens";
    case Command::diff:
      return "diff";
    case Command::validate:
      return "validate";
    case Command::plan:
      return "plan";
    case Command::series:
      return "series";
    case Command::monitor:
      return "monitor";
  }
  return "";
}

std::string_view kind_text(FactSource::Kind kind) {
  switch (kind) {
    case FactSource::Kind::cell:
      return "cell";
    case FactSource::Kind::standard_error:
      return "standard_error";
    case FactSource::Kind::low:
      return "low";
    case FactSource::Kind::high:
      return "high";
    case FactSource::Kind::p:
      return "p";
    case FactSource::Kind::coordinate:
      return "coordinate";
    case FactSource::Kind::setting:
      return "setting";
    case FactSource::Kind::flags:
      return "flags";
    case FactSource::Kind::heads:
      return "heads";
    case FactSource::Kind::heads_with:
      return "heads_with";
    case FactSource::Kind::constant:
      return "constant";
    case FactSource::Kind::derived:
      return "derived";
    case FactSource::Kind::critical_range:
      return "critical_range";
    case FactSource::Kind::length_limit:
      return "length_limit";
  }
  return "";
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
  std::vector<std::string> known;
  for (const auto& [other, array] : metrics) known.push_back(other);
  throw UsageError(fault("results", fmt::format("a metric \"{}\"", name),
                         "none" + metric_hint(name, known), "the metrics are " + joined(known)));
}

}  // namespace headgauge
