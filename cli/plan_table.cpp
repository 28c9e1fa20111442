#include "cli/plan_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/table_header.hpp"
#include "cli/table_style.hpp"
#include "headgauge/cells.hpp"
#include "headgauge/metric_names.hpp"

namespace headgauge::cli {
namespace {

constexpr std::size_t kLabelWidth = 24;
constexpr std::size_t kShare = 9;
constexpr std::size_t kChange = 30;
constexpr double kLevel = 0.05;
constexpr std::string_view kRandom = "random heads";  // this method has several draws

class PlanTable {
 public:
  PlanTable(const Results& results, const TableOptions& options)
      : results_(results),
        paint_(options.color),
        width_(std::min(options.width, kTableWidth)),
        budgets_(results.coord_names("budget")),
        methods_(results.coord_names("method")),
        by_loss_(results.settings.value("judged_by", "loss") == "loss") {}

  std::string text() const {
    std::string text = render_header(results_, paint_, width_);
    for (Index b = 0; b < std::ssize(budgets_); ++b) text += "\n" + of_budget(b);
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
    std::string text =
        paint_.left(Style::bold, shortened(budgets_[budget], kLabelWidth - 1), kLabelWidth) +
        paint_.right(Style::bold, by_loss_ ? "cache" : "keys", kShare) +
        paint_.right(Style::bold, by_loss_ ? "loss change (95 %)" : "output change (95 %)",
                     kChange) +
        paint_.right(Style::bold, "plan less it (95 %)", kChange) + "\n";
    for (Index m = 0; m < std::ssize(methods_); ++m) {
      const auto share =
          find_cell(results_, metric::planned_cache_share, {{"method", m}, {"budget", budget}});
      if (!share) continue;
      const auto p =
          find_cell(results_, metric::plan_difference_p, {{"method", m}, {"budget", budget}});
      const bool shown = p && p->value <= kLevel;
      text += paint_.left(m == 0 ? Style::bold : Style::plain, methods_[m], kLabelWidth) +
              paint_.right(Style::plain, fmt::format("{:.1f} %", 100 * share->value), kShare) +
              paint_.right(Style::plain, interval(metric::planned_change, m, budget), kChange);
      if (m > 0) {
        text += paint_.right(shown ? Style::bold : Style::faint,
                             interval(metric::plan_difference, m, budget) + (shown ? "*" : " "),
                             kChange + 1);
      }
      text += "\n";
      if (methods_[m] == kRandom) text += assignments(budget);
    }
    return text;
  }

  // Returns the range of the loss changes over the draws of random heads.
  std::string assignments(Index budget) const {
    std::vector<double> changes;
    for (Index draw = 0; draw < results_.coord_size("draw"); ++draw) {
      const auto cell =
          find_cell(results_, metric::random_change, {{"budget", budget}, {"draw", draw}});
      if (cell) changes.push_back(cell->value);
    }
    if (changes.empty()) return "";
    const auto [low, high] = std::ranges::minmax(changes);
    return paint_.left(
               Style::faint,
               fmt::format("  its {} assignment{}", changes.size(), changes.size() == 1 ? "" : "s"),
               kLabelWidth + kShare) +
           paint_.right(Style::faint, fmt::format("{:+.4f} to {:+.4f}", low, high), kChange) + "\n";
  }

  std::string legend() const {
    const auto say = [&](const std::string& what) { return wrapped(what, width_, 3) + "\n"; };
    return say(fmt::format("Changes of the {}, on {} documents of --confirm, with the plan's own "
                           "intervals by Student's t over documents",
                           by_loss_ ? "loss are in nats" : "output are relative to it",
                           results_.coord_size("document"))) +
           say("*  the plan's change is shown to be another (paired t test over documents, false "
               "discovery rate 5 % over all lines)") +
           say("heaviest keys is an oracle: it reads that share of the keys of every query, and a "
               "decoder would have to hold all of them");
  }

  // Returns one line for each layer: the number of keys that each head keeps.
  std::string heads() const {
    const LabelledArray& kept = results_.require_metric(metric::kept_keys);
    const Index layers = kept.dim("layer").size(), count = kept.dim("head").size();
    std::string text =
        paint_.left(Style::bold, fmt::format("keys kept, {}", budgets_[0]), kLabelWidth);
    constexpr std::size_t kColumn = 6;
    const Index shown =
        std::min<Index>(count, static_cast<Index>((width_ - kLabelWidth) / kColumn));
    for (Index h = 0; h < shown; ++h) {
      text += paint_.right(Style::bold, fmt::format(".{}", h), kColumn);
    }
    text += "\n";
    for (Index l = 0; l < layers; ++l) {
      text += paint_.left(Style::plain, fmt::format("layer {}", head_label(results_, "layer", l)),
                          kLabelWidth);
      for (Index h = 0; h < shown; ++h) {
        text += paint_.right(Style::plain, fmt::format("{:g}", kept({l, h, 0})), kColumn);
      }
      text += "\n";
    }
    if (shown < count) {
      text += fmt::format("({} of {} heads; heads.csv has all)\n", shown, count);
    }
    return text;
  }

  const Results& results_;
  Painter paint_;
  std::size_t width_;
  std::span<const std::string> budgets_, methods_;
  bool by_loss_;
};

}  // namespace

std::string render_plan(const Results& results, const TableOptions& options) {
  return PlanTable(results, options).text();
}

}  // namespace headgauge::cli
