#include "cli/answers_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "cli/columns.hpp"
#include "cli/table_style.hpp"
#include "headgauge/cells.hpp"
#include "headgauge/metric_names.hpp"

namespace headgauge::cli {
namespace {

constexpr std::size_t kTaskWidth = 16;
constexpr std::size_t kChangeWidth = 26;
constexpr std::size_t kCasesWidth = 5;
constexpr std::size_t kShareWidth = 7;
constexpr std::size_t kIntervalWidth = 10;
constexpr std::size_t kNatsWidth = 18;

class AnswersTable {
 public:
  AnswersTable(const Results& results, const TableOptions& options)
      : results_(results),
        options_(options),
        paint_(options.color),
        dim_(intervention_dimension(results)),
        tasks_(results.require_coord("task")),
        changes_(dim_.empty() ? 1 : results.coord_size(dim_)) {
    for (Index t = 0; t < tasks_.size(); ++t) {
      task_width_ = std::max(task_width_, std::min(text_width(tasks_.label(t)), kTaskWidth));
    }
    for (Index k = 0; k < changes_; ++k) {
      if (dim_.empty()) break;
      change_width_ = std::max(change_width_, std::min(text_width(name(k)), kChangeWidth));
    }
  }

  std::string text() const {
    std::string out = head();
    for (Index t = 0; t < tasks_.size(); ++t) {
      for (Index k = 0; k < changes_; ++k) out += row(t, k);
    }
    out += "\n" + metric_legend(paint_, "right", metric::answer_right, options_.width);
    if (dim_.empty()) {
      out += metric_legend(paint_, "gain", metric::answer_gain, options_.width);
    } else {
      out += metric_legend(paint_, "kept", metric::answers_kept, options_.width);
    }
    return out + "\n";
  }

 private:
  std::string name(Index change) const { return results_.require_coord(dim_).label(change); }

  std::optional<MetricCell> cell(const char* metric, Index task, Index change) const {
    const LabelledArray* const array = results_.metric(metric);
    if (array == nullptr) return std::nullopt;
    if (dim_.empty() || !array->has_dim(dim_)) return find_cell(results_, metric, {{"task", task}});
    return find_cell(results_, metric, {{dim_, change}, {"task", task}});
  }

  std::string head() const {
    std::string first = paint_.left(Style::bold, "task", task_width_);
    std::string second(task_width_, ' ');
    const auto column = [&](const char* title, const char* unit, std::size_t width) {
      first += " " + paint_.right(Style::bold, title, width);
      second += " " + paint_.right(Style::faint, unit, width);
    };
    if (!dim_.empty()) {
      first += " " + paint_.left(Style::bold, dim_, change_width_);
      second += std::string(change_width_ + 1, ' ');
    }
    column("cases", "", kCasesWidth);
    column("right", "%", kShareWidth);
    if (dim_.empty()) {
      column("95 %", "from, to", kIntervalWidth);
      column("loss", "nats ± se", kNatsWidth);
      column("gain", "nats ± se", kNatsWidth);
    } else {
      column("kept", "%", kShareWidth);
      column("95 %", "from, to", kIntervalWidth);
      column("loss change", "nats ± se", kNatsWidth);
    }
    return first + "\n" + second + "\n";
  }

  std::string row(Index task, Index change) const {
    const auto done = find_cell(results_, metric::does_task, {{"task", task}});
    const Style style = done && done->value == 1 ? Style::plain : Style::faint;
    std::string out = paint_.left(
        style, change > 0 ? "" : shortened(tasks_.label(task), task_width_), task_width_);
    const auto put = [&](const std::string& text, std::size_t width) {
      out += " " + paint_.right(style, text, width);
    };
    if (!dim_.empty()) {
      out += " " + paint_.left(style, shortened(name(change), change_width_), change_width_);
    }
    const auto right = cell(metric::answer_right, task, change);
    put(right ? fmt::format("{}", rows(*right)) : "-", kCasesWidth);
    put(percent(right), kShareWidth);
    if (dim_.empty()) {
      put(interval(metric::answer_right_low, metric::answer_right_high, task, change), kIntervalWidth);
      const auto loss = cell(metric::answer_loss, task, change);
      put(loss ? fmt::format("{:.4f} ± {:.4f}", loss->value, loss->standard_error) : "-",
          kNatsWidth);
      put(nats(cell(metric::answer_gain, task, change)), kNatsWidth);
    } else if (change > 0) {
      put(percent(cell(metric::answers_kept, task, change)), kShareWidth);
      put(interval(metric::answers_kept_low, metric::answers_kept_high, task, change), kIntervalWidth);
      put(nats(cell(metric::answer_loss_change, task, change)), kNatsWidth);
    }
    return out + "\n";
  }

  std::int64_t rows(const MetricCell& cell) const {
    return results_.require_metric(cell.metric).at(cell.index).rows;
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
  Painter paint_;
  std::string dim_;
  const Dimension& tasks_;
  Index changes_;
  std::size_t task_width_ = 4;
  std::size_t change_width_ = 8;
};

}  // namespace

std::string render_answers(const Results& results, const TableOptions& options) {
  const LabelledArray* const right = results.metric(metric::answer_right);
  if (right == nullptr || right->has_dim("layer")) return "";
  return AnswersTable(results, options).text();
}

}  // namespace headgauge::cli
