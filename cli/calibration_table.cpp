// Renders the tables of headgauge converge --tolerance-nats.
#include <fmt/format.h>

#include <utility>
#include <vector>

#include "cli/table_style.hpp"
#include "cli/tables.hpp"
#include "cli/text_table.hpp"
#include "headgauge/cells.hpp"
#include "headgauge/metric_names.hpp"

namespace headgauge::cli {
namespace {

constexpr double kShown = 0.05;

std::string nats(const Results& results, const char* metric, Index rise) {
  const auto cell = find_cell(results, metric, {{"rise", rise}});
  return cell ? fmt::format("{:+.4f}", cell->value) : "-";
}

std::string is_shown(const Results& results, const char* metric, Index rise) {
  const auto p = find_cell(results, metric, {{"rise", rise}});
  return p && p->value <= kShown ? "shown" : "not shown";
}

}  // namespace

std::string render_calibration(const Results& results, const TableOptions& options) {
  const LabelledArray* tolerance = results.metric(metric::tolerance_for_rise);
  if (tolerance == nullptr) return "";
  const Painter paint(options.color);
  const bool answers = results.metric(metric::calibrated_answer_change) != nullptr;
  std::vector<TextColumn> columns = {{"nats", 8},
                                     {"tolerance", 10},
                                     {"cache", 7},
                                     {"loss change, 95 % interval", 31},
                                     {"stays below", 11}};
  if (answers) columns.insert(columns.end(), {{"answers", 9}, {"stay below", 11}});
  TextTable table(paint, columns, Style::faint);
  for (Index r = 0; r < results.coord_size("rise"); ++r) {
    const double rise = results.coord_numbers("rise")[static_cast<std::size_t>(r)];
    const double found = (*tolerance)({r});
    if (found < 0) {
      table.row({fmt::format("{:g}", rise), "none"});
      continue;
    }
    std::vector<TextCell> row = {
        fmt::format("{:g}", rise), fmt::format("{:.0f} %", 100 * found),
        fmt::format("{:.0f} %", 100 * results.at(metric::calibrated_cache_share, {r})),
        fmt::format("{} ({} to {})", nats(results, metric::calibrated_loss_change, r),
                    nats(results, metric::calibrated_loss_change_low, r),
                    nats(results, metric::calibrated_loss_change_high, r)),
        is_shown(results, metric::calibrated_loss_change_p, r)};
    if (answers) {
      row.emplace_back(nats(results, metric::calibrated_answer_change, r));
      row.emplace_back(is_shown(results, metric::calibrated_answer_change_p, r));
    }
    table.row(std::move(row));
  }
  return paint(Style::bold, "budgets for a rise of the loss") +
         paint(Style::faint, ": all heads at once, measured on the texts of --confirm") + "\n" +
         table.text() + "\n";
}

}  // namespace headgauge::cli
