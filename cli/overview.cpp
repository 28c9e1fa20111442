#include "cli/overview.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "cli/columns.hpp"

namespace headgauge::cli {
namespace {

constexpr std::size_t kLayer = 5;
constexpr std::size_t kRoles = 30;  // minimum width of a layer's roles, in columns
constexpr std::size_t kShortName = 5;
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

std::string what_stands_out(const Results& results, std::size_t heads, const Painter& paint) {
  std::vector<std::pair<Index, const FlagInfo*>> raised;
  for (const FlagInfo& info : flag_infos()) {
    if (const Index count = count_flags(results, info.name)) raised.emplace_back(count, &info);
  }
  if (raised.empty()) return "";
  std::ranges::stable_sort(raised, {}, [](const auto& one) { return one.first; });
  std::string out = paint(Style::bold, "Flags and roles, and the number of the " +
                                           std::to_string(heads) + " heads with each") +
                    "\n";
  for (const auto& [count, info] : raised) {
    const bool named = count * kNamedShare < static_cast<Index>(heads);
    const std::string who =
        named ? names_of(results, info->name, kTableWidth - kShortName - kCount)
              : fmt::format("{:.0f} % of the heads",
                            100.0 * static_cast<double>(count) / static_cast<double>(heads));
    out += paint.left(info->role ? Style::plain : Style::warning, info->short_name, kShortName) +
           fmt::format("{:>6}   ", count) + paint(named ? Style::plain : Style::faint, who) + "\n";
  }
  return out + "\n";
}

std::optional<double> median_of(const Results& results, const std::string& metric,
                                const std::vector<HeadName>& heads) {
  std::vector<double> values;
  for (const HeadName& head : heads) {
    const auto cell = value_of(results, metric, head);
    if (cell) values.push_back(cell->is_none ? INFINITY : cell->value);
  }
  if (values.empty()) return std::nullopt;
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// Example: "9 sink, 2 ind": the roles of a layer's heads.
std::string roles_of_layer(const Results& results, int layer) {
  std::string text;
  for (const FlagInfo& info : flag_infos()) {
    if (!info.role) continue;
    const auto count = std::ranges::count_if(results.flags, [&](const Flag& flag) {
      return flag.name == info.name && flag.layer == layer;
    });
    if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : " ", count, info.short_name);
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

std::vector<Column> fitting_columns(std::vector<Column> columns) {
  std::size_t used = kLayer + 1;
  const auto beyond = std::ranges::find_if(columns, [&](const Column& column) {
    used += column.width + kGap;
    return used + kRoles > kTableWidth;
  });
  columns.erase(beyond, columns.end());
  return columns;
}

std::string render_overview(const Results& results, const std::vector<HeadName>& heads,
                            const std::vector<Column>& columns, const Painter& paint) {
  std::string out = what_stands_out(results, heads.size(), paint);
  std::string first = paint.right(Style::bold, "layer", kLayer);
  std::string second = paint.left(Style::faint, "median", kLayer + 1);
  std::size_t used = kLayer + 1;
  for (const Column& column : columns) {
    used += column.width + kGap;
    first += "  " + paint.right(Style::bold, column.title, column.width);
    second += paint.right(Style::faint, column.unit,
                          column.width + (&column == &columns.front() ? 1 : kGap));
  }
  out += first + "  " + paint(Style::bold, "heads by role") + "\n" + second + "\n";
  for (auto begin = heads.begin(); begin != heads.end();) {
    const auto end = std::find_if(begin, heads.end(), [&](const HeadName& head) {
      return head.layer_index != begin->layer_index;
    });
    const std::vector<HeadName> of_layer(begin, end);
    out += fmt::format("{:>5}", begin->layer);
    for (const Column& column : columns) {
      const auto median = median_of(results, column.metric, of_layer);
      const std::string text =
          !median || !std::isfinite(*median)
              ? "-"
              : value_text(results,
                           MetricCell{.metric = column.metric, .index = {}, .value = *median});
      out += "  " + paint.right(text == "-" ? Style::faint : Style::plain, text, column.width);
    }
    const std::string roles = roles_of_layer(results, begin->layer);
    out += roles.empty() ? "\n" : "  " + shortened(roles, kTableWidth - used) + "\n";
    begin = end;
  }
  return out +
         paint(Style::faint,
               fmt::format("{} heads are folded: --all shows each, --sort METRIC --top 20 "
                           "the first by a metric",
                           heads.size())) +
         "\n";
}

}  // namespace headgauge::cli
