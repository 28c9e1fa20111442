// Makes the tables of what changed most, between two runs or under interventions.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "headgauge/cells.hpp"
#include "headgauge/diff.hpp"
#include "headgauge/text.hpp"
#include "headgauge/view.hpp"
#include "results/value_or.hpp"

namespace headgauge::view {
namespace {

struct ChangeColumn {
  Column column;
  std::function<Cell(const Change&)> cell;
};

// Sorts heads by layer, each layer before its heads, and the model last.
Cell head_cell(const Change& change) {
  constexpr double kMoreThanHeads = 1e6;
  const std::size_t first = change.labels.size() - change.cell.size();
  double order = kUndefined;
  for (std::size_t k = 0; k < change.cell.size(); ++k) {
    const auto place = static_cast<double>(change.cell[k]);
    if (change.labels[first + k].first == "layer") order = place * kMoreThanHeads;
    if (change.labels[first + k].first == "head") order += place + 1;
  }
  return {head_text(change), order};
}

// Example: "sparsemax L=1024 N=20".
Cell place_cell(const Change& change, const std::string& intervention) {
  static const std::map<std::string, std::string> brief = {
      {"length", "L"},           {"top_n", "N"}, {"temperature", "T"}, {"epsilon", "step"},
      {"forecast_length", "at"}, {"tokens", "n"}};
  std::string text;
  for (const auto& [dim, label] : change.labels) {
    if (dim == "layer" || dim == "head") continue;
    const auto it = brief.find(dim);
    const std::string name = (it == brief.end() ? dim : it->second) + "=";
    text += (text.empty() ? "" : " ") + (dim == intervention ? "" : name) + label;
  }
  return {legible(text)};
}

Cell change_cell(const Change& change) {
  std::string text = fmt::format("{:+.3g}", change.change);
  if (!std::isnan(change.standard_error)) text += fmt::format(" ± {:.2g}", change.standard_error);
  return {text, std::abs(change.change)};
}

// A standard error of 0 leaves no randomness.
Cell p_cell(const Change& change) {
  if (std::isinf(change.errors)) return {"exact", change.adjusted_p};
  return {fmt::format("{:.1g}", change.adjusted_p), change.adjusted_p};
}

std::vector<ChangeColumn> columns(const Results& results, bool measured) {
  const std::string intervention = intervention_dimension(results);
  const bool of_runs = results.coord("run") != nullptr;
  const auto name = [](std::string title) {
    return Column{.title = std::move(title), .number = false};
  };
  std::vector<ChangeColumn> list = {
      {{"head"}, head_cell},
      {name("metric"), [](const Change& change) { return Cell{legible(change.metric)}; }},
      {name("where"), [=](const Change& change) { return place_cell(change, intervention); }},
      {{.title = of_runs ? "old" : "original", .rank = 3},
       [](const Change& change) {
         return Cell{value_text(change, change.before), change.before};
       }},
      {{.title = of_runs ? "new" : "changed", .rank = 3},
       [](const Change& change) {
         return Cell{value_text(change, change.after), change.after};
       }},
      {{.title = measured ? "change ± se" : "change", .rank = 1}, change_cell}};
  if (measured) {
    list.push_back({{.title = "p",
                     .meaning = "the smallest false discovery rate at which the value is listed; "
                                "exact: its standard error is 0"},
                    p_cell});
  } else {
    list.push_back({{.title = "relative",
                     .unit = "%",
                     .meaning = "the change over the largest |value| of the metric"},
                    [](const Change& change) {
                      return Cell{fmt::format("{:.1f}", 100 * change.relative), change.relative};
                    }});
  }
  list.push_back({{.title = "values",
                   .meaning = "how many values of the metric and head changed, of how many",
                   .rank = 5},
                  [](const Change& change) {
                    return Cell{fmt::format("{}/{}", change.changed, change.values),
                                static_cast<double>(change.changed)};
                  }});
  return list;
}

}  // namespace

std::vector<Table> change_tables(const Results& results, Index most) {
  const bool compared = results.command == Command::diff || results.command == Command::compare;
  if (!results.changes && !compared) return {};
  const ChangeList list =
      results.changes
          ? *results.changes
          : list_changes(results, value_or(results.settings, "level", kFalseDiscoveries));
  std::vector<Table> tables;
  for (const bool measured : {true, false}) {
    const std::vector<Change>& changes = measured ? list.measured : list.unmeasured;
    if (changes.empty()) continue;
    Table& table = tables.emplace_back(Table{
        .name = "largest_changes",
        .label = measured ? "" : "without errors",
        .title = measured ? "The largest change of each metric and head"
                          : "The largest change without a standard error of each metric and head",
        .lead = tables.empty() && results.command == Command::diff});
    const std::vector<ChangeColumn> shown = columns(results, measured);
    for (const ChangeColumn& one : shown) table.columns.push_back(one.column);
    const Index all = std::ssize(changes), rows = most > 0 ? std::min(most, all) : all;
    for (const Change& change : std::span(changes).first(static_cast<std::size_t>(rows))) {
      auto& row = table.rows.emplace_back();
      for (const ChangeColumn& one : shown) row.push_back(one.cell(change));
    }
    table.left_out = all - rows;
  }
  if (!tables.empty()) {  // of which a file holds no more than the first
    tables.back().left_out += list.found - std::ssize(list.measured) - std::ssize(list.unmeasured);
  }
  return tables;
}

}  // namespace headgauge::view
