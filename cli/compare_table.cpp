#include "cli/compare_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "cli/answers_table.hpp"
#include "cli/columns.hpp"
#include "cli/table_header.hpp"
#include "cli/table_style.hpp"
#include "headgauge/cells.hpp"
#include "headgauge/compare.hpp"
#include "headgauge/metric_names.hpp"

namespace headgauge::cli {
namespace {

constexpr std::size_t kCompareGap = 1;
constexpr std::size_t kWidestName = 30;

// Returns the text of one cell, "-" if there is no value.
std::string shown(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? rounded(*value) : "-";
}

class ComparisonTable {
 public:
  ComparisonTable(const Results& results, const TableOptions& options)
      : results_(results),
        paint_(options.color),
        width_(options.width),
        dim_(intervention_dimension(results)),
        names_(results.coord_names(dim_)),
        changed_(changed_heads(results)) {
    const std::size_t widest = width_ < kTableWidth ? kWidestName / 2 : kWidestName;
    for (const std::string& name : names_) {
      name_width_ = std::max(name_width_, std::min(text_width(name), widest));
    }
  }

  std::string text() const {
    const LabelledArray* change = results_.metric(metric::loss_change);
    if (change != nullptr && change->has_dim("layer")) {
      return one_at_a_time(change->has_dim("head"));
    }
    return all_at_once();
  }

 private:
  // A column of the table of interventions: the mean over the heads at the longest length.
  struct Column {
    const char* metric;
    const char* title;
    const char* unit;
    std::size_t width;
    int rank;
    double scale = 1;
  };

  std::optional<MetricCell> cell(const char* metric, std::initializer_list<Pick> picks) const {
    return find_cell(results_, metric, picks);
  }

  // Returns the mean over all heads that have the metric under this intervention.
  std::optional<double> over_heads(const char* metric, Index intervention) const {
    const LabelledArray* array = results_.metric(metric);
    if (array == nullptr) return std::nullopt;
    double sum = 0;
    int count = 0;
    for (const HeadName& head : changed_) {
      const Pick layer{"layer", head.layer_index}, at{"head", head.head_index},
          of{dim_, intervention};
      std::optional<MetricCell> found;
      if (array->has_dim("top_n")) {
        const auto top_n = judged_top_n(results_);
        if (top_n) found = cell(metric, {layer, at, of, {"top_n", *top_n}});
      } else {
        found = cell(metric, {layer, at, of});
      }
      if (!found || !std::isfinite(found->value)) continue;
      sum += found->value;
      ++count;
    }
    if (count == 0) return std::nullopt;
    return sum / count;
  }

  // Returns the columns that fit, in their order; columns with the largest `rank` are dropped
  // first.
  std::vector<Column> fitting_columns(std::size_t taken) const {
    static const std::vector<Column> all = {
        {metric::output_change, "output", "%", 6, 0, 100},
        {metric::kept_mass, "kept", "%", 5, 0, 100},
        {metric::visible_keys, "keys", "", 5, 1},
        {metric::entropy_normalized, "entr.", "of max", 6, 2},
        {metric::effective_tokens, "eff.", "keys", 6, 3},
        {metric::max_weight, "max", "weight", 6, 8},
        {metric::distance, "dist.", "", 6, 6},
        {metric::separability, "sep.", "", 5, 4},
        {metric::separability_null, "rand.", "", 5, 5},
        {metric::jacobian_spectral, "sens.", "||J||", 6, 7},
    };
    std::vector<Column> columns;
    for (const Column& column : all) {
      const bool of_patterns = std::string_view(column.metric) == metric::visible_keys ||
                               std::string_view(column.metric) == metric::separability_null;
      if (of_patterns && dim_ != "pattern") continue;
      if (results_.metric(column.metric) != nullptr) columns.push_back(column);
    }
    const auto width = [&] {
      std::size_t used = taken;
      for (const Column& column : columns) used += kCompareGap + column.width;
      return used;
    };
    while (!columns.empty() && width() > std::min(width_, kTableWidth)) {
      columns.erase(std::ranges::max_element(columns, {}, &Column::rank));
    }
    return columns;
  }

  std::string all_at_once() const {
    const bool loss = results_.metric(metric::loss) != nullptr;
    const bool critical = results_.metric(metric::critical_n) != nullptr;
    const std::size_t taken =
        name_width_ + (loss ? 3 * kCompareGap + 6 + 16 + 6 : 0) + (critical ? kCompareGap + 5 : 0);
    const std::vector<Column> columns = fitting_columns(taken);
    const std::string gap(kCompareGap, ' ');
    std::string first = paint_.left(Style::bold, dim_, name_width_);
    std::string second(name_width_, ' ');
    const auto head = [&](const char* title, const char* unit, std::size_t width) {
      first += gap + paint_.right(Style::bold, title, width);
      second += gap + paint_.right(Style::faint, unit, width);
    };
    if (loss) {
      head("loss", "nats", 6);
      head("change", "± se", 16);
      head("KL", "nats", 6);
    }
    for (const Column& column : columns) head(column.title, column.unit, column.width);
    if (critical) head("crit.", "N", 5);
    std::string out = first + "\n" + second + "\n";
    for (std::size_t k = 0; k < names_.size(); ++k) {
      const auto intervention = static_cast<Index>(k);
      out += paint_.left(Style::plain, shortened(names_[k], name_width_), name_width_);
      if (loss) {
        const auto change = cell(metric::loss_change, {{dim_, intervention}});
        const auto own = cell(metric::loss, {{dim_, intervention}}),
                   kl = cell(metric::kl, {{dim_, intervention}});
        out += gap + paint_.right(Style::plain, own ? rounded(own->value) : "-", 6);
        out += gap + paint_.right(change_style(change), k == 0 ? "" : change_text(change), 16);
        out += gap + paint_.right(Style::plain, k == 0 || !kl ? "" : rounded(kl->value), 6);
      }
      for (const Column& column : columns) {
        auto value = over_heads(column.metric, intervention);
        if (value) *value *= column.scale;
        const bool trivial = k == 0 && column.scale != 1;
        out += gap + paint_.right(Style::plain, trivial ? "" : shown(value), column.width);
      }
      if (critical) {
        const auto found = cell(metric::critical_n, {{dim_, intervention}});
        const std::string text = found ? value_text(results_, *found) : "-";
        out += gap + paint_.right(Style::plain, text, 5);
      }
      out += "\n";
    }
    return out + legend(columns, critical);
  }

  static std::string change_text(const std::optional<MetricCell>& change) {
    return change ? with_error(*change) : "-";
  }
  Style change_style(const std::optional<MetricCell>& change) const {
    return change && gains_.is_gain(*change) ? Style::warning : Style::plain;
  }

  std::string legend(const std::vector<Column>& columns, bool critical) const {
    std::string out = "\n";
    out += paint_(Style::faint,
                  hanging("means over the heads changed, at the longest length", width_, 0));
    out += "\n";
    for (const Column& column : columns) {
      out += metric_legend(paint_, column.title, column.metric, width_);
    }
    if (critical) out += metric_legend(paint_, "crit.", metric::critical_n, width_);
    return out + "\n";
  }

  // Returns one row for each head or layer, with the intervention that increases the loss least.
  std::string one_at_a_time(bool by_head) const {
    const std::string gap(kCompareGap, ' ');
    std::string out = paint_.right(Style::bold, by_head ? "head" : "layer", 5) + gap +
                      paint_.left(Style::bold, fmt::format("best {}", dim_), name_width_) + gap +
                      paint_.right(Style::bold, "loss change ± se", 17) + gap +
                      paint_.right(Style::bold, "KL", 8);
    if (by_head) {
      out += gap + paint_.right(Style::bold, "output", 8) + gap +
             paint_.right(Style::bold, "effective tokens", 17);
    }
    out += "\n";
    for (const HeadName& head : measured_heads(results_)) {
      if (!by_head && head.head_index > 0) continue;
      std::optional<MetricCell> best;
      Index intervention = 0;
      for (Index k = 1; k < static_cast<Index>(names_.size()); ++k) {
        const auto change = of(by_head, metric::loss_change, head, k);
        if (!change || (best && change->value >= best->value)) continue;
        best = change;
        intervention = k;
      }
      if (!best) continue;
      const std::string name = by_head ? head.text() : std::to_string(head.layer);
      const auto kl = of(by_head, metric::kl, head, intervention);
      out += paint_.right(Style::plain, name, 5) + gap +
             paint_.left(Style::plain,
                         shortened(names_[static_cast<std::size_t>(intervention)], name_width_),
                         name_width_) +
             gap + paint_.right(change_style(best), change_text(best), 17) + gap +
             paint_.right(Style::plain, kl ? fmt::format("{:.2g}", kl->value) : "-", 8);
      if (by_head) {
        const auto output = of(true, metric::output_change, head, intervention);
        const auto before = of(true, metric::effective_tokens, head, 0);
        const auto after = of(true, metric::effective_tokens, head, intervention);
        out += gap +
               paint_.right(Style::plain,
                            output ? fmt::format("{} %", rounded(100 * output->value)) : "-", 8) +
               gap +
               paint_.right(
                   Style::plain,
                   before && after ? rounded(before->value) + " -> " + rounded(after->value) : "-",
                   17);
      }
      out += "\n";
    }
    return out + "\n";
  }

  std::optional<MetricCell> of(bool by_head, const char* metric, const HeadName& head,
                               Index intervention) const {
    if (by_head) {
      return cell(metric,
                  {{"layer", head.layer_index}, {"head", head.head_index}, {dim_, intervention}});
    }
    return cell(metric, {{"layer", head.layer_index}, {dim_, intervention}});
  }

  const Results& results_;
  const LossGains gains_{results_};
  Painter paint_;
  std::size_t width_;
  std::string dim_;
  std::span<const std::string> names_;
  std::vector<HeadName> changed_;
  std::size_t name_width_ = 10;
};

}  // namespace

std::string render_comparison(const Results& results, const TableOptions& options) {
  return render_header(results, Painter(options.color), options.width) +
         ComparisonTable(results, options).text() + render_answers(results, options);
}

}  // namespace headgauge::cli
