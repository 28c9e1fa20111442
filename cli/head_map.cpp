// Draws the heads of a model as letters.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "cli/table_style.hpp"
#include "cli/tables.hpp"
#include "headgauge/cells.hpp"
#include "headgauge/flags.hpp"

namespace headgauge::cli {

std::string head_map(const Results& results, const TableOptions& options) {
  const Painter paint(options.color);
  constexpr Index kMostAcross = 72, kMostDown = 16;
  static const std::map<std::string, Style> styles = {
      {"sinks", Style::faint}, {"far", Style::blue},          {"previous", Style::green},
      {"copies", Style::cyan}, {"induction", Style::magenta}, {"dormant", Style::warning}};
  std::map<std::string, Index> counts;
  for (const FlagInfo& info : flag_infos()) {
    const Index count = info.role ? std::ranges::count(results.flags, info.name, &Flag::name) : 0;
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

}  // namespace headgauge::cli
