// Renders the tables of headgauge validate.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "cli/table_header.hpp"
#include "cli/table_style.hpp"
#include "cli/tables.hpp"
#include "cli/text_table.hpp"
#include "headgauge/cells.hpp"
#include "headgauge/metric_names.hpp"
#include "headgauge/validate.hpp"

namespace headgauge::cli {
namespace {

std::string signed_number(double value) {
  return std::isfinite(value) ? fmt::format("{:+.2f}", value) : "-";
}

class ValidationTable {
 public:
  ValidationTable(const Results& results, const TableOptions& options)
      : results_(results),
        options_(options),
        paint_(options.color),
        interventions_(results.coord_names("intervention")),
        predictors_(results.coord_names("predictor")),
        correlation_(results.require_metric(metric::prediction_rank_correlation)) {}

  std::string text() {
    std::string text = render_header(results_, paint_, std::min(options_.width, kTableWidth)) +
                       "\n" + interventions();
    std::vector<Index> metrics, flags;
    for (Index p = 0; p < std::ssize(predictors_); ++p) {
      (predictors_[p].starts_with(kFlagPredictor) ? flags : metrics).push_back(p);
    }
    std::ranges::stable_sort(metrics, std::greater{}, [&](Index p) { return largest(p); });
    std::erase_if(metrics, [&](Index p) { return largest(p) < 0; });
    const std::size_t all = metrics.size();
    const std::size_t shown = options_.top > 0 ? static_cast<std::size_t>(options_.top) : all;
    if (metrics.size() > shown) metrics.resize(shown);
    text += "\n" + correlations(metrics);
    if (all > shown) {
      text += fmt::format("({} of {} metrics; --top all shows the others)\n", shown, all);
    }
    if (!flags.empty()) text += "\n" + correlations(flags);
    return text + "\n" + legend();
  }

 private:
  // Returns the largest |rho| under any intervention; -1 if there is none.
  double largest(Index predictor) const {
    double most = -1;
    for (Index k = 0; k < std::ssize(interventions_); ++k) {
      const double value = std::abs(correlation_({predictor, k}));
      if (value > most) most = value;
    }
    return most;
  }

  std::string interventions() const {
    TextTable table(paint_, {left_column("one head gets", name_width()),
                             {"median change", 14},
                             {"largest", 14},
                             {"worse / better", 14},
                             {"replicates", 14}});
    const LabelledArray& change = results_.require_metric(metric::validated_loss_change);
    const LabelledArray& rises = results_.require_metric(metric::loss_rises);
    const LabelledArray& falls = results_.require_metric(metric::loss_falls);
    const LabelledArray& replication = results_.require_metric(metric::loss_change_replication);
    for (Index k = 0; k < std::ssize(interventions_); ++k) {
      const LabelledArray of_intervention = change.isel("intervention", k);
      std::vector<double> values;
      of_intervention.each([&](std::span<const Index>, std::size_t at) {
        const Estimate estimate = of_intervention.at_offset(at);
        if (std::isnan(estimate.value)) return;
        values.push_back(estimate.value);
      });
      if (values.empty()) continue;
      std::ranges::sort(values);
      table.row({interventions_[k], fmt::format("{:+.4f}", values[values.size() / 2]),
                 fmt::format("{:+.4f}", values.back()),
                 fmt::format("{:g} / {:g}", rises({k}), falls({k})),
                 signed_number(replication({k}))});
    }
    return table.text();
  }

  std::size_t name_width() const {
    std::size_t width = 0;
    for (const std::string& name : interventions_) width = std::max(width, text_width(name));
    return std::max<std::size_t>(width + 2, 26);
  }

  std::string correlations(const std::vector<Index>& rows) const {
    constexpr std::size_t kPredictorWidth = 36;
    constexpr std::size_t kColumn = 11;
    std::vector<TextColumn> columns = {
        left_column("rank correlation with the change", kPredictorWidth)};
    for (const std::string& name : interventions_) {
      columns.push_back({shortened(name, kColumn - 1), kColumn});
    }
    TextTable table(paint_, columns);
    for (const Index p : rows) {
      std::vector<TextCell> row = {shortened(predictors_[p], kPredictorWidth - 1)};
      for (Index k = 0; k < std::ssize(interventions_); ++k) {
        const bool predicted = predicts(results_, p, k);
        row.emplace_back(signed_number(correlation_({p, k})) + (predicted ? "*" : " "),
                         predicted ? Style::bold : Style::faint);
      }
      table.row(std::move(row));
    }
    return table.text();
  }

  std::string legend() const {
    const double level = results_.settings.value("level", 0.05);
    const Index texts = results_.coord_size("text");
    const std::string seen = texts < 2 ? "of the same text" : "on the other texts";
    const std::string counted = fmt::format(
        "worse / better: number of cases (heads times texts) in which the loss is shown to rise / "
        "to fall (t test, false discovery rate {:g} over the cases of the line)",
        level);
    return wrapped(counted, std::min(options_.width, kTableWidth), 3) + "\n" +
           wrapped(
               fmt::format("*  predicts: among the discoveries at a false discovery rate of {:g} "
                           "over all {} "
                           "correlations, with one sign on every text ({} {}); the loss is that {}",
                           level, std::ssize(predictors_) * std::ssize(interventions_), texts,
                           texts == 1 ? "text" : "texts", seen),
               std::min(options_.width, kTableWidth), 3) +
           "\n";
  }

  const Results& results_;
  const TableOptions& options_;
  Painter paint_;
  std::span<const std::string> interventions_, predictors_;
  const LabelledArray& correlation_;
};

}  // namespace

std::string render_validation(const Results& results, const TableOptions& options) {
  return ValidationTable(results, options).text();
}

}  // namespace headgauge::cli
