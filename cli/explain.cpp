// Says what the words, the columns and the roles on a screen mean.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "cli/table_style.hpp"
#include "cli/tables.hpp"
#include "cli/text_table.hpp"
#include "headgauge/advice.hpp"
#include "headgauge/catalogue.hpp"
#include "headgauge/view.hpp"

namespace headgauge::cli {

std::string explanations(const Results& results, const std::string& screen,
                         const TableOptions& options) {
  const Painter paint(options.color);
  std::string text;
  std::set<std::string> said;
  const auto say = [&](Style style, const std::string& name, const std::string& meaning) {
    const bool shown = !name.empty() && screen.find(name) != screen.npos;
    if (shown && !meaning.empty() && said.insert(name + meaning).second) {
      text += legend_line(paint, style, name, meaning, options.width);
    }
  };
  for (const auto& [term, meaning] : terms()) say(Style::bold, term, meaning);
  for (const Column& column : head_columns()) {
    const MetricInfo* const info = find_metric_info(column.metric);
    const bool shown = options.table && results.metric(column.metric) != nullptr;
    if (info != nullptr && shown) say(Style::bold, column.title, info->meaning);
  }
  auto tables = view::tables(results);
  for (view::Table& one : view::change_tables(results, 1)) tables.push_back(std::move(one));
  for (const view::Table& table : tables) {
    if (!options.table && !table.lead) continue;
    for (const view::Column& column : table.columns) say(Style::bold, column.title, column.meaning);
  }
  const std::size_t heads = measured_heads(results).size();
  for (const FlagInfo& info : flag_infos()) {
    const Index count = std::ranges::count(results.flags, info.name, &Flag::name);
    if (count == 0) continue;
    const auto first = std::ranges::find(results.flags, info.name, &Flag::name);
    const std::size_t before = text.size();
    say(info.role ? Style::plain : Style::warning, info.name,
        fmt::format("{} of {} heads: {}. {}", count, heads, info.meaning, info.means));
    if (text.size() == before) continue;
    text += legend_line(paint, Style::plain, "",
                        command_in(info.next, fmt::format("{}.{}", first->layer, first->head)),
                        options.width);
  }
  return text;
}

}  // namespace headgauge::cli
