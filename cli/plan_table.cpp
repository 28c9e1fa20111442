// Renders the tables of headgauge plan.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "cli/table_header.hpp"
#include "cli/table_style.hpp"
#include "cli/tables.hpp"
#include "cli/text_table.hpp"
#include "headgauge/cells.hpp"
#include "headgauge/metric_names.hpp"

namespace headgauge::cli {
namespace {

constexpr std::size_t kLabelWidth = 24;
constexpr double kLevel = 0.05;
constexpr std::string_view kRandom = "random heads";  // this method has several draws

class PlanTable {
 public:
  PlanTable(const Results& results, const TableOptions& options)
      : results_(results),
        paint_(options.color),
        width_(std::min(options.width, kTableWidth)),
        budgets_(results.coord_names("budget")),
        methods_(results.coord_names("method")) {}

  std::string text() const {
    std::string text = render_header(results_, paint_, width_);
    for (Index b = 0; b < std::ssize(budgets_); ++b) {
      text += "\n" + of_budget(b);
      if (judges_retrieval()) text += "\n" + retrieval(b);
    }
    return text + "\n" + legend() + "\n" + heads();
  }

 private:
  std::string interval(const char* metric, Index method, Index budget) const {
    const std::string name = metric;
    const auto cell = [&](const std::string& of) {
      return find_cell(results_, of, {{"method", method}, {"budget", budget}});
    };
    const auto value = cell(name), low = cell(name + "_low"), high = cell(name + "_high");
    if (!value) return "-";
    if (!low || !high) return fmt::format("{:+.4f}", value->value);
    return fmt::format("{:+.4f} ({:+.4f} to {:+.4f})", value->value, low->value, high->value);
  }

  std::string of_budget(Index budget) const {
    TextTable table(paint_, {left_column(shortened(budgets_[budget], kLabelWidth - 1), kLabelWidth),
                             {"cache", 8},
                             {"loss change (95 %)", 29},
                             {.title = "plan less it (95 %)", .width = 29, .mark = 1}});
    for (Index m = 0; m < std::ssize(methods_); ++m) {
      const auto share =
          find_cell(results_, metric::planned_cache_share, {{"method", m}, {"budget", budget}});
      if (!share) continue;
      const auto p =
          find_cell(results_, metric::plan_difference_p, {{"method", m}, {"budget", budget}});
      const bool shown = p && p->value <= kLevel;
      std::vector<TextCell> row = {{methods_[m], m == 0 ? Style::bold : Style::plain},
                                   fmt::format("{:.1f} %", 100 * share->value),
                                   interval(metric::planned_change, m, budget)};
      if (m > 0) {
        row.emplace_back(interval(metric::plan_difference, m, budget) + (shown ? "*" : " "),
                         shown ? Style::bold : Style::faint);
      }
      table.row(std::move(row));
      if (methods_[m] == kRandom) add_draws(table, budget);
    }
    return table.text();
  }

  bool judges_retrieval() const {
    if (results_.metric(metric::planned_replay_change) != nullptr) return true;
    const LabelledArray* answers = results_.metric(metric::planned_answer_change);
    return answers != nullptr &&
           std::ranges::any_of(answers->values, [](double change) { return !std::isnan(change); });
  }

  // Returns what the methods cost the replay, and the answers of each task that they keep.
  std::string retrieval(Index budget) const {
    std::vector<TextColumn> columns = {left_column("", kLabelWidth)};
    const bool has_replay = results_.metric(metric::planned_replay_change) != nullptr;
    columns.push_back({"same token", 11});
    if (has_replay) columns.push_back({"replay change (95 %)", 29});
    std::vector<Index> tasks;
    const Index count = results_.coord("task") == nullptr ? 0 : results_.coord_size("task");
    for (Index t = 0; t < count; ++t) {
      if (!of_task(metric::planned_answer_change, 0, budget, t)) continue;
      tasks.push_back(t);
      columns.push_back({fmt::format("{}, nats", results_.coord_names("task")[t]), 18});
      columns.push_back({"kept (95 %)", 19});
    }
    TextTable table(paint_, columns);
    for (Index m = 0; m < std::ssize(methods_); ++m) {
      const auto share =
          find_cell(results_, metric::planned_cache_share, {{"method", m}, {"budget", budget}});
      if (!share) continue;
      std::vector<TextCell> row = {{methods_[m], m == 0 ? Style::bold : Style::plain}};
      const auto same =
          find_cell(results_, metric::planned_same_token, {{"method", m}, {"budget", budget}});
      row.emplace_back(same ? fmt::format("{:.1f} %", 100 * same->value) : "-");
      if (has_replay) row.emplace_back(interval(metric::planned_replay_change, m, budget));
      for (const Index task : tasks) {
        const auto change = of_task(metric::planned_answer_change, m, budget, task);
        row.emplace_back(change ? fmt::format("{:+.4f}", change->value) : "-");
        row.emplace_back(kept_text(m, budget, task));
      }
      table.row(std::move(row));
    }
    table.fit(width_);
    return table.text();
  }

  std::optional<MetricCell> of_task(const char* name, Index method, Index budget,
                                    Index task) const {
    return find_cell(results_, name, {{"method", method}, {"budget", budget}, {"task", task}});
  }

  std::string kept_text(Index method, Index budget, Index task) const {
    const auto share = of_task(metric::planned_answers_kept, method, budget, task);
    const auto low = of_task(metric::planned_answers_kept_low, method, budget, task);
    const auto high = of_task(metric::planned_answers_kept_high, method, budget, task);
    if (!share) return "-";
    if (!low || !high) return fmt::format("{:.0f} %", 100 * share->value);
    return fmt::format("{:.0f} % ({:.0f} to {:.0f})", 100 * share->value, 100 * low->value,
                       100 * high->value);
  }

  // Adds the range of the loss changes over the draws of random heads.
  void add_draws(TextTable& table, Index budget) const {
    std::vector<double> changes;
    for (Index draw = 0; draw < results_.coord_size("draw"); ++draw) {
      const auto cell =
          find_cell(results_, metric::random_change, {{"budget", budget}, {"draw", draw}});
      if (cell) changes.push_back(cell->value);
    }
    if (changes.empty()) return;
    const auto [low, high] = std::ranges::minmax(changes);
    table.row(
        {{fmt::format("  its {} assignment{}", changes.size(), changes.size() == 1 ? "" : "s"),
          Style::faint},
         "",
         {fmt::format("{:+.4f} to {:+.4f}", low, high), Style::faint}});
  }

  std::string legend() const {
    const auto say = [&](const std::string& what) { return wrapped(what, width_, 3) + "\n"; };
    return say(fmt::format(
               "Changes of the loss are in nats, means over the documents of --confirm ({}), with "
               "the plan's own intervals by Student's t over documents",
               results_.coord_size("document"))) +
           say("*  the plan's change is shown to be another (paired t test over documents, false "
               "discovery rate 5 % over all lines)") +
           (judges_retrieval()
                ? say("same token: how often the model under the plan predicts the token that it "
                      "predicts without") +
                      say("replay: the last tokens of each document, which repeat its first; kept: "
                          "the share of the right answers of --confirm-tasks that stay right")
                : "") +
           say("heaviest keys is an oracle: it reads that share of the keys of every query, and a "
               "decoder would have to hold all of them");
  }

  // Returns one line for each layer: the number of keys that each head keeps.
  std::string heads() const {
    const LabelledArray& kept = results_.require_metric(metric::kept_keys);
    const Index layers = kept.dim("layer").size(), count = kept.dim("head").size();
    std::vector<TextColumn> columns = {
        left_column(fmt::format("keys kept, {}", budgets_[0]), kLabelWidth)};
    for (Index h = 0; h < count; ++h) {
      columns.push_back({fmt::format(".{}", h), 5, "", static_cast<int>(h) + 1});
    }
    TextTable table(paint_, columns);
    for (Index l = 0; l < layers; ++l) {
      std::vector<TextCell> row = {fmt::format("layer {}", head_label(results_, "layer", l))};
      for (Index h = 0; h < count; ++h) row.emplace_back(fmt::format("{:g}", kept({l, h, 0})));
      table.row(std::move(row));
    }
    const auto dropped = static_cast<Index>(table.fit(width_));
    return table.text() + (dropped == 0 ? ""
                                        : fmt::format("({} of {} heads; heads.csv has all)\n",
                                                      count - dropped, count));
  }

  const Results& results_;
  Painter paint_;
  std::size_t width_;
  std::span<const std::string> budgets_, methods_;
};

}  // namespace

std::string render_plan(const Results& results, const TableOptions& options) {
  return PlanTable(results, options).text();
}

}  // namespace headgauge::cli
