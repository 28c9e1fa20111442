#include "cli/overview.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "cli/table_header.hpp"
#include "headgauge/ranks.hpp"

namespace headgauge::cli {
namespace {

constexpr std::size_t kRoles = 30;  // minimum width of a layer's roles, in columns
constexpr std::size_t kName = 9;
constexpr std::size_t kCount = 9;
constexpr Index kNamedShare = 5;  // heads are named if fewer than one in this many carry the flag

// Returns the heads that carry a flag, by layer, as many as fit on a line.
std::string names_of(const Results& results, const std::string& flag, std::size_t width) {
  std::string names;
  Index left = count_flags(results, flag);
  for (const Flag& one : results.flags) {
    if (one.name != flag) continue;
    const std::string name = fmt::format("{}.{} ", one.layer, one.head);
    const std::string more = fmt::format("and {} more", left);
    if (names.size() + name.size() + more.size() > width) return names + more;
    names += name;
    --left;
  }
  if (!names.empty()) names.pop_back();
  return names;
}

double median_of(const Results& results, const std::string& metric,
                 const std::vector<HeadName>& heads) {
  std::vector<double> values;
  for (const HeadName& head : heads) {
    const auto cell = value_of(results, metric, head);
    if (cell) values.push_back(cell->is_none ? INFINITY : cell->value);
  }
  return median(std::move(values));
}

// Example: "9 sinks 2 induction": the roles of a layer's heads.
std::string roles_of_layer(const Results& results, int layer) {
  std::string text;
  for (const FlagInfo& info : flag_infos()) {
    if (!info.role) continue;
    const auto count = std::ranges::count_if(results.flags, [&](const Flag& flag) {
      return flag.name == info.name && flag.layer == layer;
    });
    if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : " ", count, info.name);
  }
  return text;
}

}  // namespace

Index count_flags(const Results& results, const std::string& flag) {
  return std::ranges::count(results.flags, flag, &Flag::name);
}

std::optional<MetricCell> value_of(const Results& results, const std::string& metric,
                                   const HeadName& head) {
  const auto top_n = judged_top_n(results);
  return find_cell(
      results, metric,
      {{"layer", head.layer_index}, {"head", head.head_index}, {"top_n", top_n.value_or(0)}});
}

std::string what_stands_out(const Results& results, std::size_t heads, const Painter& paint) {
  std::vector<std::pair<Index, const FlagInfo*>> raised;
  for (const FlagInfo& info : flag_infos()) {
    if (const Index count = count_flags(results, info.name)) raised.emplace_back(count, &info);
  }
  if (raised.empty()) return "";
  std::ranges::stable_sort(raised, {}, [](const auto& one) { return one.first; });
  TextColumn names = left_column("");
  names.gap = 3;
  TextTable table(paint, {left_column("", kName), {"", 5}, names});
  for (const auto& [count, info] : raised) {
    const bool named = count * kNamedShare < static_cast<Index>(heads);
    const std::string who =
        named ? names_of(results, info->name, kTableWidth - kName - kCount)
              : fmt::format("{:.0f} % of the heads",
                            100.0 * static_cast<double>(count) / static_cast<double>(heads));
    table.row({{info->name, info->role ? Style::plain : Style::warning},
               std::to_string(count),
               {who, named ? Style::plain : Style::faint}});
  }
  return paint(Style::bold,
               fmt::format("Roles and flags, and the number of the {} heads with each", heads)) +
         "\n" + table.text() + "\n";
}

TextTable layer_table(const Results& results, const std::vector<HeadName>& heads,
                      const std::vector<Column>& metrics, const Painter& paint) {
  std::vector<TextColumn> columns = {
      {.title = "layer", .width = 6, .unit = "median", .align = Align::left}};
  for (const Column& metric : metrics) {
    TextColumn& column = columns.emplace_back(metric_column(metric));
    column.rank = static_cast<int>(columns.size()) - 1;
    if (column.rank > 1) column.gap = kGap;
  }
  columns.push_back(left_column("heads by role", kRoles - kGap));
  columns.back().gap = kGap;
  TextTable table(paint, columns);
  table.fit(kTableWidth);
  const std::size_t room = kTableWidth - (table.width() - columns.back().width);
  for (auto begin = heads.begin(); begin != heads.end();) {
    const auto end = std::find_if(begin, heads.end(), [&](const HeadName& head) {
      return head.layer_index != begin->layer_index;
    });
    const std::vector<HeadName> of_layer(begin, end);
    std::vector<TextCell> row = {
        fmt::format("{:>5}{}", begin->layer, open_mark(results, begin->layer_index))};
    for (const Column& metric : metrics) {
      const double middle = median_of(results, metric.metric, of_layer);
      const MetricCell cell{{.value = middle}, metric.metric};
      const std::string text = std::isfinite(middle) ? value_text(results, cell) : "-";
      row.emplace_back(text, text == "-" ? Style::faint : Style::plain);
    }
    const std::string roles = roles_of_layer(results, begin->layer);
    if (!roles.empty()) row.emplace_back(shortened(roles, room));
    table.row(std::move(row));
    begin = end;
  }
  return table;
}

}  // namespace headgauge::cli
