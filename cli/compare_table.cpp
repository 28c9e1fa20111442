// Renders the table of interventions.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "cli/columns.hpp"
#include "cli/table_header.hpp"
#include "cli/table_style.hpp"
#include "cli/tables.hpp"
#include "cli/text_table.hpp"
#include "headgauge/catalogue.hpp"
#include "headgauge/cells.hpp"
#include "headgauge/compare.hpp"
#include "headgauge/metric_names.hpp"

namespace headgauge::cli {
namespace {

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
  struct Measured {
    const char* metric;
    TextColumn column;
    double scale = 1;
  };

  std::optional<MetricCell> cell(const char* metric, std::initializer_list<Pick> picks) const {
    return find_cell(results_, metric, picks);
  }

  std::vector<Measured> measured() const {
    std::vector<Measured> all = {
        {metric::output_change, {"output", 6, "%", 1}, 100},
        {metric::kept_mass, {"kept", 5, "%", 1}, 100},
        {metric::queries_losing_keys, {"losing", 6, "% rows", 2}, 100},
        {metric::visible_keys, {"keys", 5, "", 2}},
        {metric::entropy_normalized, {"entr.", 6, "of max", 3}},
        {metric::effective_tokens, {"eff.", 6, "keys", 4}},
        {metric::max_weight, {"max", 6, "weight", 9}},
        {metric::distance, {"dist.", 6, "", 7}},
        {metric::separability_beyond_sinks, {"sep.", 5, "", 5}},
        {metric::separability_null_beyond_sinks, {"rand.", 5, "", 6}},
        {metric::jacobian_spectral, {"sens.", 6, "||J||", 8}},
    };
    std::erase_if(all, [&](const Measured& one) {
      const bool of_patterns =
          std::string_view(one.metric) == metric::visible_keys ||
          std::string_view(one.metric) == metric::separability_null_beyond_sinks;
      return (of_patterns && dim_ != "pattern") || results_.metric(one.metric) == nullptr;
    });
    return all;
  }

  std::string all_at_once() const {
    const bool loss = results_.metric(metric::loss) != nullptr;
    const bool critical = results_.metric(metric::critical_n) != nullptr;
    const std::vector<Measured> means = measured();
    std::vector<TextColumn> columns = {left_column(dim_, name_width_)};
    if (loss) {
      columns.insert(columns.end(),
                     {{"loss", 6, "nats"}, {"change", 16, "± se"}, {"KL", 6, "nats"}});
    }
    for (const Measured& one : means) {
      columns.push_back(one.column);
      columns.back().meaning = metric_info(one.metric).meaning;
    }
    if (critical) {
      columns.push_back({"crit.", 5, "N", 0, metric_info(metric::critical_n).meaning});
    }
    TextTable table(paint_, columns);
    table.fit(std::min(width_, kTableWidth));
    for (Index k = 0; k < std::ssize(names_); ++k) {
      std::vector<TextCell> row = {shortened(names_[k], name_width_)};
      if (loss) {
        const auto change = cell(metric::loss_change, {{dim_, k}});
        const auto own = cell(metric::loss, {{dim_, k}}), kl = cell(metric::kl, {{dim_, k}});
        row.emplace_back(own ? rounded(own->value) : "-");
        row.emplace_back(k == 0 ? "" : change_text(change), change_style(change));
        row.emplace_back(k == 0 || !kl ? "" : rounded(kl->value));
      }
      for (const Measured& one : means) {
        auto value = mean_over_heads(results_, one.metric, changed_, {dim_, k});
        if (value) *value *= one.scale;
        const bool trivial = k == 0 && one.scale != 1;
        row.emplace_back(trivial ? "" : shown(value));
      }
      if (critical) {
        const auto found = cell(metric::critical_n, {{dim_, k}});
        row.emplace_back(found ? value_text(results_, *found) : "-");
      }
      table.row(std::move(row));
    }
    const std::string note = "means over the heads changed, at the longest length";
    return table.text() + "\n" + paint_(Style::faint, hanging(note, width_, 0)) + "\n" +
           table.legend(width_) + "\n";
  }

  static std::string change_text(const std::optional<MetricCell>& change) {
    return change ? with_error(*change) : "-";
  }
  Style change_style(const std::optional<MetricCell>& change) const {
    return change && gains_.is_gain(*change) ? Style::warning : Style::plain;
  }

  // Returns one row for each head or layer, with the intervention that increases the loss least.
  std::string one_at_a_time(bool by_head) const {
    std::vector<TextColumn> columns = {{by_head ? "head" : "layer", 5},
                                       left_column("best " + dim_, name_width_),
                                       {"loss change ± se", 17},
                                       {"KL", 8}};
    if (by_head) columns.insert(columns.end(), {{"output", 8}, {"effective tokens", 17}});
    TextTable table(paint_, columns);
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
      const auto kl = of(by_head, metric::kl, head, intervention);
      std::vector<TextCell> row = {by_head ? head.text() : std::to_string(head.layer),
                                   shortened(names_[intervention], name_width_),
                                   {change_text(best), change_style(best)},
                                   kl ? fmt::format("{:.2g}", kl->value) : "-"};
      if (by_head) {
        const auto output = of(true, metric::output_change, head, intervention);
        const auto before = of(true, metric::effective_tokens, head, 0);
        const auto after = of(true, metric::effective_tokens, head, intervention);
        row.emplace_back(output ? fmt::format("{} %", rounded(100 * output->value)) : "-");
        row.emplace_back(before && after ? rounded(before->value) + " -> " + rounded(after->value)
                                         : "-");
      }
      table.row(std::move(row));
    }
    return table.text() + "\n";
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
