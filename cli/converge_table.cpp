#include "cli/converge_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "cli/columns.hpp"
#include "cli/table_header.hpp"
#include "cli/table_style.hpp"
#include "headgauge/cells.hpp"
#include "headgauge/metric_names.hpp"

namespace headgauge::cli {
namespace {

constexpr const char* kConvergeGap = " ";
constexpr std::size_t kNames = 16, kCell = 20;  // widths in the table of rank correlations
constexpr double kTolerance = 0.05;             // budgets of this tolerance have columns

class ConvergenceTable {
 public:
  ConvergenceTable(const Results& results, const TableOptions& options)
      : results_(results),
        paint_(options.color),
        width_(options.width),
        top_(options.top),
        heads_(measured_heads(results)),
        top_n_(judged_top_n(results)) {
    tolerance_ = find_label(results, "tolerance", kTolerance).value_or(0);
    bidirectional_ = !results.model.causal.value_or(true);
    percent_ = fmt::format("{:g}", 100 * results.coord_numbers("tolerance")[tolerance_]);
  }

  std::string text() const { return heads() + correlations() + cache(); }

 private:
  struct Column {
    std::string metric;
    std::string title;
    std::string unit;
    std::size_t width;
    int rank;  // columns with the largest rank are dropped first
    double scale = 1;
    bool with_error = false;
    int sampler = -1;
    const char* keys = "";  // the keys that the sampler selects
  };

  std::optional<MetricCell> cell(const Column& column, const HeadName& head) const {
    const Pick layer{"layer", head.layer_index}, at{"head", head.head_index};
    if (column.sampler >= 0) {
      return find_cell(results_, column.metric,
                       {layer, at, {"tolerance", tolerance_}, {"sampler", column.sampler}});
    }
    const LabelledArray* metric = results_.metric(column.metric);
    if (metric != nullptr && metric->has_dim("top_n")) {
      if (!top_n_) return std::nullopt;
      return find_cell(results_, column.metric, {layer, at, {"top_n", *top_n_}});
    }
    return find_cell(results_, column.metric, {layer, at});
  }

  std::vector<Column> columns() const {
    std::vector<Column> all = {
        {metric::critical_fraction_head, "crit.", "% of L", 6, 5, 100},
        {metric::separability, "sep.", "", 5, 4},
        {metric::entropy_slope, "slope", "", 5, 6},
        {metric::participation_ratio, "n_eff", "keys", 6, 3},
        {metric::horizon, "H", "", 5, 0},
        {metric::rate_predicted, "pred.", "", 5, 1},
        {metric::rate_mean, "rate", "mean", 12, 0, 1, true},
        {metric::rate_covariance, "rate", "cov.", 12, 2, 1, true},
        {metric::tokens_for_error, "unif.", "keys", 6, 2, 1, false, 0, "drawn at random"},
        {metric::tokens_for_error, "recent", "keys", 6, 0, 1, false, 1,
         bidirectional_ ? "the nearest ones and 4 sinks" : "the most recent ones and 4 sinks"},
        {metric::tokens_for_error, "top", "keys", 5, 1, 1, false, 2,
         "those of the largest weights"},
    };
    std::erase_if(all, [&](const Column& c) {
      return std::ranges::none_of(heads_,
                                  [&](const HeadName& h) { return cell(c, h).has_value(); });
    });
    const auto used = [&] {
      std::size_t width = 5;
      for (const Column& column : all) width += 1 + column.width;
      return width;
    };
    while (all.size() > 1 && used() > std::min(width_, kTableWidth)) {
      all.erase(std::ranges::max_element(all, {}, &Column::rank));
    }
    return all;
  }

  std::string heads() const {
    const std::vector<Column> shown = columns();
    std::string first = paint_.right(Style::bold, "head", 5), second(5, ' ');
    for (const Column& column : shown) {
      first.append(kConvergeGap).append(paint_.right(Style::bold, column.title, column.width));
      second.append(kConvergeGap).append(paint_.right(Style::faint, column.unit, column.width));
    }
    std::string out = fmt::format("{}\n{}\n", first, second);
    int rows = 0;
    for (const HeadName& head : heads_) {
      if (top_ > 0 && rows == top_) break;
      ++rows;
      const bool slow = std::ranges::any_of(results_.flags, [&](const Flag& flag) {
        return flag.name == "slow" && flag.layer == head.layer && flag.head == head.head;
      });
      out += paint_.right(slow ? Style::warning : Style::plain, head.text(), 5);
      for (const Column& column : shown) {
        const auto found = cell(column, head);
        std::string text(1, '-');
        if (found && column.metric == metric::tokens_for_error) {
          text = fmt::format("{:.0f}", found->value);
        } else if (found && column.with_error) {
          text = fmt::format("{:.2f}", found->value);
          if (std::isfinite(found->standard_error))
            text += fmt::format(" ± {:.2f}", found->standard_error);
        } else if (!found && column.metric == metric::critical_fraction_head) {
          text = beyond(head);
        } else if (found) {
          text = rounded(found->value * column.scale);
        }
        out.append(kConvergeGap).append(paint_.right(Style::plain, text, column.width));
      }
      out += "\n";
    }
    if (rows < static_cast<int>(heads_.size())) {
      out += fmt::format("  ... {} of {} heads shown\n", rows, heads_.size());
    }
    return out + legend(shown);
  }

  // Returns the share of the context that was searched for a critical N without finding one.
  std::string beyond(const HeadName& head) const {
    const auto n = find_cell_of_head(results_, metric::critical_n_head, head);
    const auto range = critical_range(results_);
    if (!n || !n->is_none || !range) return std::string(1, '-');
    return fmt::format(">{}", rounded(100.0 * *range / *longest_length(results_)));
  }

  std::string legend(const std::vector<Column>& shown) const {
    std::string out = "\n";
    bool budgets = false;  // true once the legend has explained budgets
    for (const Column& column : shown) {
      if (column.sampler < 0) {
        out += metric_legend(paint_, column.title, column.metric, width_);
        continue;
      }
      const bool first = !std::exchange(budgets, true);
      const std::string what =
          first ? fmt::format("keys needed for an output within {} %: ", percent_) : "";
      out += legend_line(paint_, Style::bold, column.title, what + column.keys, width_);
    }
    return out + "\n";
  }

  std::string correlations() const {
    const LabelledArray* value = results_.metric(metric::rank_correlation);
    if (value == nullptr ||
        std::ranges::none_of(value->values, [](double v) { return std::isfinite(v); })) {
      return "";
    }
    const auto rows = results_.coord_names("capacity_metric");
    const auto columns = results_.coord_names("convergence_metric");
    std::string out =
        paint_(Style::bold, "paper A's metrics and paper B's") +
        paint_(Style::faint, ": rank correlation over heads, 95 % interval by bootstrap") + "\n";
    out += std::string(kNames, ' ');
    for (const std::string& name : columns) out += paint_.right(Style::faint, plain(name), kCell);
    out += "\n";
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const LabelledArray line = value->isel("capacity_metric", static_cast<Index>(i));
      if (std::ranges::none_of(line.values, [](double v) { return std::isfinite(v); })) continue;
      out += paint_.left(Style::plain, plain(rows[i]), kNames);
      for (std::size_t j = 0; j < columns.size(); ++j) {
        const auto at = static_cast<Index>(j), row = static_cast<Index>(i);
        const auto found = [&](const char* metric) {
          return find_cell(results_, metric,
                           {{"capacity_metric", row}, {"convergence_metric", at}});
        };
        const auto mean = found(metric::rank_correlation);
        const auto low = found(metric::rank_correlation_low),
                   high = found(metric::rank_correlation_high);
        const bool clear = low && high && (low->value > 0 || high->value < 0);
        const std::string text =
            !mean || !low || !high
                ? std::string(1, '-')
                : fmt::format("{:.2f} [{:.2f},{:.2f}]", mean->value, low->value, high->value);
        out += paint_.right(clear ? Style::bold : Style::plain, text, kCell);
      }
      out += "\n";
    }
    return out + "\n";
  }

  // Returns the metric's name as the table above shows it.
  static std::string plain(const std::string& metric) {
    if (metric == metric::critical_fraction_head) return "crit. fraction";
    if (metric == metric::tokens_for_error) return "recent keys";
    std::string name = metric;
    std::ranges::replace(name, '_', ' ');
    return name;
  }

  std::string cache() const {
    const LabelledArray* bytes = results_.metric(metric::cache_bytes_by_layer);
    if (bytes == nullptr) return "";
    std::string out =
        paint_(Style::bold, "key-value cache") +
        paint_(Style::faint,
               fmt::format(": bytes per token of context, and with every head kept to "
                           "its most recent keys\n"
                           "and 4 sinks within {} %",
                           percent_)) +
        "\n";
    const auto line = [&](const std::string& name, double whole, double budget) {
      out += paint_.right(Style::plain, name, 8) + kConvergeGap +
             paint_.right(Style::plain, fmt::format("{:.0f}", whole), 10) + kConvergeGap;
      const bool known = std::isfinite(budget);
      out += paint_.right(Style::plain, known ? fmt::format("{:.0f}", budget) : "-", 10) +
             kConvergeGap;
      out +=
          paint_.right(Style::plain, known ? fmt::format("{:.0f} %", 100 * budget / whole) : "", 6);
      out += "\n";
    };
    out += paint_.right(Style::faint, "layer", 8) + kConvergeGap +
           paint_.right(Style::faint, "full", 10) + kConvergeGap +
           paint_.right(Style::faint, "budget", 10) + "\n";
    const LabelledArray full = bytes->sel("cache", "full"), kept = bytes->sel("cache", "budget");
    const auto layers = results_.coord_numbers("layer");
    for (Index l = 0; l < std::ssize(layers); ++l) {
      line(fmt::format("{:.0f}", layers[l]), full({l}), kept({l}));
    }
    if (const LabelledArray* all = results_.metric(metric::cache_bytes)) {
      line("all", all->sel("cache", "full")({}), all->sel("cache", "budget")({}));
    }
    return out + "\n";
  }

  const Results& results_;
  Painter paint_;
  std::size_t width_;
  int top_;
  std::vector<HeadName> heads_;
  std::optional<Index> top_n_;
  Index tolerance_ = 0;
  std::string percent_;
  bool bidirectional_ = false;
};

}  // namespace

std::string render_convergence(const Results& results, const TableOptions& options) {
  return render_header(results, Painter(options.color), options.width) +
         ConvergenceTable(results, options).text();
}

}  // namespace headgauge::cli
