// Renders the tables of headgauge converge.
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
#include "cli/tables.hpp"
#include "cli/text_table.hpp"
#include "headgauge/catalogue.hpp"
#include "headgauge/cells.hpp"
#include "headgauge/metric_names.hpp"

namespace headgauge::cli {
namespace {

constexpr double kTolerance = 0.05;  // budgets of this tolerance have columns

class ConvergenceTable {
 public:
  ConvergenceTable(const Results& results, const TableOptions& options)
      : results_(results),
        paint_(options.color),
        width_(options.width),
        top_(options.top),
        heads_(measured_heads(results)) {
    tolerance_ = find_label(results, "tolerance", kTolerance).value_or(0);
    bidirectional_ = !results.model.causal.value_or(true);
    percent_ = fmt::format("{:g}", 100 * results.coord_numbers("tolerance")[tolerance_]);
  }

  std::string text() const { return heads() + cache(); }

 private:
  struct Measured {
    const char* metric;
    TextColumn column;
    double scale = 1;
    bool with_error = false;
    Index sampler = -1;
    const char* keys = "";  // the keys that the sampler selects
  };

  std::optional<MetricCell> cell(const Measured& one, const HeadName& head) const {
    if (one.sampler < 0) return find_judged_cell(results_, one.metric, head);
    return find_cell(results_, one.metric,
                     {{"layer", head.layer_index},
                      {"head", head.head_index},
                      {"tolerance", tolerance_},
                      {"sampler", one.sampler}});
  }

  std::vector<Measured> measured() const {
    std::vector<Measured> all = {
        {metric::critical_fraction_head, {"crit.", 6, "% keys", 6}, 100},
        {metric::separability_beyond_sinks, {"sep.", 5, "", 5}},
        {metric::entropy_slope, {"slope", 5, "", 7}},
        {metric::participation_ratio, {"n_eff", 6, "keys", 4}},
        {metric::horizon, {"H", 5, "", 1}},
        {metric::rate_predicted, {"pred.", 5, "", 2}},
        {metric::rate_mean, {"rate", 12, "mean", 1}, 1, true},
        {metric::rate_covariance, {"rate", 12, "cov.", 3}, 1, true},
        {metric::tokens_for_error, {"unif.", 6, "keys", 3}, 1, false, 0, "drawn at random"},
        {metric::tokens_for_error,
         {"recent", 6, "keys", 1},
         1,
         false,
         1,
         bidirectional_ ? "the nearest ones and 4 sinks" : "the most recent ones and 4 sinks"},
        {metric::tokens_for_error,
         {"top", 5, "keys", 2},
         1,
         false,
         2,
         "those of the largest weights"},
    };
    std::erase_if(all, [&](const Measured& one) {
      return std::ranges::none_of(heads_,
                                  [&](const HeadName& h) { return cell(one, h).has_value(); });
    });
    return all;
  }

  std::string cell_text(const Measured& one, const HeadName& head) const {
    const auto found = cell(one, head);
    if (!found) return one.metric == metric::critical_fraction_head ? beyond(head) : "-";
    if (one.sampler >= 0) return fmt::format("{:.0f}", found->value);
    if (!one.with_error) return rounded(found->value * one.scale);
    const std::string text = fmt::format("{:.2f}", found->value);
    return std::isfinite(found->standard_error)
               ? text + fmt::format(" ± {:.2f}", found->standard_error)
               : text;
  }

  std::string heads() const {
    const std::vector<Measured> all = measured();
    std::vector<TextColumn> columns = {{"head", 5}};
    for (const Measured& one : all) {
      columns.push_back(one.column);
      if (one.sampler < 0) columns.back().meaning = metric_info(one.metric).meaning;
    }
    TextTable table(paint_, columns);
    table.fit(std::min(width_, kTableWidth));
    const std::size_t rows = top_ > 0 ? std::min<std::size_t>(top_, heads_.size()) : heads_.size();
    for (const HeadName& head : std::span(heads_).first(rows)) {
      const bool slow = std::ranges::any_of(results_.flags, [&](const Flag& flag) {
        return flag.name == "slow" && flag.layer == head.layer && flag.head == head.head;
      });
      std::vector<TextCell> row = {{head.text(), slow ? Style::warning : Style::plain}};
      for (const Measured& one : all) row.emplace_back(cell_text(one, head));
      table.row(std::move(row));
    }
    std::string out = table.text();
    if (rows < heads_.size()) {
      out += fmt::format("  ... {} of {} heads shown\n", rows, heads_.size());
    }
    return out + "\n" + table.legend(width_) + budgets_legend(all, table) + "\n";
  }

  // Returns the share of the context that was searched for a critical N without finding one.
  std::string beyond(const HeadName& head) const {
    const auto n = find_cell_of_head(results_, metric::critical_n_head, head);
    const auto range = critical_range(results_);
    if (!n || !n->is_none || !range) return "-";
    return fmt::format(">{}", rounded(100.0 * *range / *longest_length(results_)));
  }

  // Explains the columns of budgets, what they share only once.
  std::string budgets_legend(const std::vector<Measured>& all, const TextTable& table) const {
    std::string out;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i].sampler < 0 || !table.shows(1 + i)) continue;
      const std::string what =
          out.empty() ? fmt::format("keys needed for an output within {} %: ", percent_) : "";
      out += legend_line(paint_, Style::bold, all[i].column.title, what + all[i].keys, width_);
    }
    return out;
  }

  std::string cache() const {
    const LabelledArray* bytes = results_.metric(metric::cache_bytes_by_layer);
    if (bytes == nullptr) return "";
    const std::string legend = open_legend(results_);
    TextTable table(paint_, {{"layer", 8}, {"full", 10}, {"budget", 10}, {"", 6}}, Style::faint);
    const auto line = [&](const std::string& name, double whole, double budget) {
      const bool known = std::isfinite(budget);
      table.row({name, fmt::format("{:.0f}", whole), known ? fmt::format("{:.0f}", budget) : "-",
                 known ? fmt::format("{:.0f} %", 100 * budget / whole) : ""});
    };
    const LabelledArray full = bytes->sel("cache", "full"), kept = bytes->sel("cache", "budget");
    const auto layers = results_.coord_numbers("layer");
    for (Index l = 0; l < std::ssize(layers); ++l) {
      line(fmt::format("{:.0f}{}", layers[l], open_mark(results_, l)), full({l}), kept({l}));
    }
    if (const LabelledArray* all = results_.metric(metric::cache_bytes)) {
      line("all", all->sel("cache", "full")({}), all->sel("cache", "budget")({}));
    }
    return paint_(Style::bold, "key-value cache") +
           paint_(Style::faint,
                  fmt::format(": bytes per token of context, and with every head kept "
                              "to its most recent keys\nand 4 sinks within {} %{}{}",
                              percent_, legend.empty() ? "" : "; ", legend)) +
           "\n" + table.text() + "\n";
  }

  const Results& results_;
  Painter paint_;
  std::size_t width_;
  int top_;
  std::vector<HeadName> heads_;
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
