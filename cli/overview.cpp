#include "cli/overview.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "cli/table_header.hpp"
#include "headgauge/ranks.hpp"

namespace headgauge::cli {
namespace {

constexpr std::size_t kRoles = 30;  // minimum width of a layer's roles, in columns

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

std::string head_map(const Results& results, const Painter& paint) {
  constexpr Index kMostAcross = 72, kMostDown = 16;
  static const std::map<std::string, Style> styles = {
      {"sinks", Style::faint}, {"far", Style::blue},          {"previous", Style::green},
      {"copies", Style::cyan}, {"induction", Style::magenta}, {"dormant", Style::warning}};
  std::map<std::string, Index> counts;
  for (const FlagInfo& info : flag_infos()) {
    const Index count = info.role ? count_flags(results, info.name) : 0;
    if (count > 0) counts[info.name] = count;
  }
  const std::vector<HeadName> heads = measured_heads(results);
  Index layers = 0, widest = 0;
  for (const HeadName& head : heads) {
    layers = std::max(layers, head.layer_index + 1);
    widest = std::max(widest, head.head_index + 1);
  }
  if (counts.empty() || layers > kMostAcross || widest > kMostDown) return "";
  const auto letter = [&](const std::string& role) {
    const auto style = styles.find(role);
    return paint(style == styles.end() ? Style::plain : style->second, role.substr(0, 1));
  };
  std::vector<std::vector<std::string>> rows(widest, std::vector<std::string>(layers, " "));
  for (const HeadName& head : heads) {
    std::string role;
    for (const Flag& flag : results.flags) {
      if (flag.layer != head.layer || flag.head != head.head || !counts.contains(flag.name))
        continue;
      if (role.empty() || counts[flag.name] < counts[role]) role = flag.name;
    }
    rows[head.head_index][head.layer_index] = role.empty() ? "." : letter(role);
  }
  std::string out = "A row a head, a column a layer:";
  for (const auto& [role, count] : counts) out += " " + letter(role) + " " + role;
  for (const auto& row : rows) out += fmt::format("\n  {}", fmt::join(row, ""));
  return out + "\n";
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
