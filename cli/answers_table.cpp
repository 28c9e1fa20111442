#include "cli/tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "cli/text_table.hpp"
#include "headgauge/catalogue.hpp"
#include "headgauge/cells.hpp"
#include "headgauge/metric_names.hpp"

namespace headgauge::cli {
namespace {

constexpr std::size_t kWidestTask = 16;
constexpr std::size_t kWidestChange = 26;

class AnswersTable {
 public:
  AnswersTable(const Results& results, const TableOptions& options)
      : results_(results),
        options_(options),
        dim_(intervention_dimension(results)),
        tasks_(results.require_coord("task")),
        changes_(dim_.empty() ? 1 : results.coord_size(dim_)) {}

  std::string text() const {
    const auto meaning = [](const char* metric) { return metric_info(metric).meaning; };
    const TextColumn interval{"95 %", 10, "from, to"};
    std::vector<TextColumn> columns = {left_column("task")};
    if (!dim_.empty()) columns.push_back(left_column(dim_));
    columns.push_back({"cases", 5});
    columns.push_back({"right", 6, "%", 0, meaning(metric::answer_right)});
    if (dim_.empty()) {
      columns.insert(columns.end(), {interval,
                                     {"loss", 17, "nats ± se"},
                                     {"gain", 17, "nats ± se", 0, meaning(metric::answer_gain)}});
    } else {
      columns.insert(columns.end(), {{"kept", 6, "%", 0, meaning(metric::answers_kept)},
                                     interval,
                                     {"loss change", 17, "nats ± se"}});
    }
    TextTable table(Painter(options_.color), columns);
    for (Index t = 0; t < tasks_.size(); ++t) {
      for (Index k = 0; k < changes_; ++k) table.row(row(t, k));
    }
    return table.text() + "\n" + table.legend(options_.width) + "\n";
  }

 private:
  std::optional<MetricCell> cell(const char* metric, Index task, Index change) const {
    return find_cell(results_, metric, {{dim_, change}, {"task", task}});
  }

  std::vector<TextCell> row(Index task, Index change) const {
    const auto done = cell(metric::does_task, task, 0);
    const Style style = done && done->value == 1 ? Style::plain : Style::faint;
    std::vector<TextCell> cells;
    const auto put = [&](std::string text) { cells.emplace_back(std::move(text), style); };
    put(change > 0 ? "" : shortened(tasks_.label(task), kWidestTask));
    if (!dim_.empty()) put(shortened(results_.require_coord(dim_).label(change), kWidestChange));
    const auto right = cell(metric::answer_right, task, change);
    put(right ? fmt::format("{}", results_.require_metric(right->metric).at(right->index).rows)
              : "-");
    put(percent(right));
    if (dim_.empty()) {
      put(interval(metric::answer_right_low, metric::answer_right_high, task, change));
      const auto loss = cell(metric::answer_loss, task, change);
      put(loss ? nats(loss).substr(1) : "-");  // a loss needs no sign
      put(nats(cell(metric::answer_gain, task, change)));
    } else if (change > 0) {
      put(percent(cell(metric::answers_kept, task, change)));
      put(interval(metric::answers_kept_low, metric::answers_kept_high, task, change));
      put(nats(cell(metric::answer_loss_change, task, change)));
    }
    return cells;
  }

  static std::string percent(const std::optional<MetricCell>& share) {
    return share ? fmt::format("{:.1f}", 100 * share->value) : "-";
  }
  static std::string nats(const std::optional<MetricCell>& mean) {
    return mean ? with_error(*mean) : "-";
  }
  std::string interval(const char* low, const char* high, Index task, Index change) const {
    const auto from = cell(low, task, change), to = cell(high, task, change);
    return from && to ? fmt::format("{:.0f} to {:.0f}", 100 * from->value, 100 * to->value) : "-";
  }

  const Results& results_;
  const TableOptions& options_;
  std::string dim_;
  const Dimension& tasks_;
  Index changes_;
};

}  // namespace

std::string render_answers(const Results& results, const TableOptions& options) {
  const LabelledArray* const right = results.metric(metric::answer_right);
  if (right == nullptr || right->has_dim("layer")) return "";
  return AnswersTable(results, options).text();
}

}  // namespace headgauge::cli
