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

// What is predicted: the loss of text or of answers.
struct Outcome {
  const char* change;
  const char* correlation;
  const char* replication;
  bool (*predicts)(const Results&, Index, Index);
  const char* dim;  // text or cases
};
constexpr Outcome kText = {metric::validated_loss_change, metric::prediction_rank_correlation,
                           metric::loss_change_replication, predicts, "text"};
constexpr Outcome kAnswers = {metric::validated_answer_change, metric::answer_rank_correlation,
                              metric::answer_change_replication, predicts_answers, "cases"};

class ValidationTable {
 public:
  ValidationTable(const Results& results, const Outcome& outcome, const TableOptions& options)
      : results_(results),
        outcome_(outcome),
        options_(options),
        paint_(options.color),
        interventions_(results.coord_names("intervention")),
        predictors_(results.coord_names("predictor")),
        correlation_(results.require_metric(outcome.correlation)) {}

  std::string text() {
    std::string text = interventions();
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

  bool of_answers() const { return &outcome_ == &kAnswers; }

  std::string interventions() const {
    TextTable table(paint_, {left_column("one head gets", name_width()),
                             {"median change", 14},
                             {"largest", 14},
                             {of_answers() ? "lose answers" : "worse / better", 14},
                             {"replicates", 14},
                             {"losing", 8, "% rows"}});
    const LabelledArray& change = results_.require_metric(outcome_.change);
    const LabelledArray& replication = results_.require_metric(outcome_.replication);
    for (Index k = 0; k < std::ssize(interventions_); ++k) {
      std::vector<double> values = defined(change.isel("intervention", k));
      if (values.empty()) continue;
      std::ranges::sort(values);
      const auto losing = share_losing_keys(results_, k, of_answers());
      table.row({interventions_[k], fmt::format("{:+.4f}", values[values.size() / 2]),
                 fmt::format("{:+.4f}", values.back()), shown(k), signed_number(replication({k})),
                 losing ? rounded(100 * *losing) : "-"});
    }
    return table.text();
  }

  static std::vector<double> defined(const LabelledArray& array) {
    std::vector<double> values;
    for (const double value : array.values) {
      if (!std::isnan(value)) values.push_back(value);
    }
    return values;
  }

  // Returns how many changes are shown to cost something.
  std::string shown(Index intervention) const {
    if (!of_answers()) {
      return fmt::format("{:g} / {:g}", results_.require_metric(metric::loss_rises)({intervention}),
                         results_.require_metric(metric::loss_falls)({intervention}));
    }
    const std::vector<double> roles =
        defined(results_.require_metric(metric::retrieval_head).isel("intervention", intervention));
    return fmt::format("{} of {}", std::ranges::count(roles, 1.0), roles.size());
  }

  std::size_t name_width() const {
    std::size_t width = 0;
    for (const std::string& name : interventions_) width = std::max(width, text_width(name));
    return std::max<std::size_t>(width + 2, 26);
  }

  std::string correlations(const std::vector<Index>& rows) const {
    constexpr std::size_t kPredictorWidth = 36;
    constexpr std::size_t kColumn = 11;
    std::vector<TextColumn> columns = {left_column(
        of_answers() ? "rank correlation with lost answers" : "rank correlation with the change",
        kPredictorWidth)};
    for (const std::string& name : interventions_) {
      columns.push_back({shortened(name, kColumn - 1), kColumn});
    }
    TextTable table(paint_, columns);
    for (const Index p : rows) {
      std::vector<TextCell> row = {shortened(predictors_[p], kPredictorWidth - 1)};
      for (Index k = 0; k < std::ssize(interventions_); ++k) {
        const bool predicted = outcome_.predicts(results_, p, k);
        row.emplace_back(signed_number(correlation_({p, k})) + (predicted ? "*" : " "),
                         predicted ? Style::bold : Style::faint);
      }
      table.row(std::move(row));
    }
    return table.text();
  }

  std::string legend() const {
    const double level = results_.settings.value("level", 0.05);
    const std::string counted = fmt::format(
        "{} (t test, false discovery rate {:g} over the {} of the line)",
        of_answers() ? "lose answers: heads whose change is shown to raise the loss of answers"
                     : "worse / better: number of cases (heads times texts) in which the loss is "
                       "shown to rise / to fall",
        level, of_answers() ? "heads" : "cases");
    const char* losing =
        "losing: share of the rows (queries) that lose keys, a mean over the heads";
    const Index parts = results_.coord_size(outcome_.dim);
    const std::string part = of_answers() ? "group" : "text";
    const std::string marked = fmt::format(
        "*  predicts: among the discoveries at a false discovery rate of {:g} over all {} "
        "correlations, with one sign on every {} ({} {}{}); the loss is that {}",
        level, std::ssize(predictors_) * std::ssize(interventions_), part, parts, part,
        parts == 1 ? "" : "s",
        parts == 1 ? "of the same text" : fmt::format("on the other {}s", part));
    const std::size_t width = std::min(options_.width, kTableWidth);
    return wrapped(counted, width, 3) + "\n" + losing + "\n" + wrapped(marked, width, 3) + "\n";
  }

  const Results& results_;
  const Outcome& outcome_;
  const TableOptions& options_;
  Painter paint_;
  std::span<const std::string> interventions_, predictors_;
  const LabelledArray& correlation_;
};

}  // namespace

std::string render_validation(const Results& results, const TableOptions& options) {
  std::string text =
      render_header(results, Painter(options.color), std::min(options.width, kTableWidth)) + "\n";
  if (results.metric(kText.correlation) != nullptr) {
    text += ValidationTable(results, kText, options).text();
  }
  if (results.metric(kAnswers.correlation) != nullptr) {
    if (results.metric(kText.correlation) != nullptr) text += "\n";
    text += ValidationTable(results, kAnswers, options).text();
  }
  return text;
}

}  // namespace headgauge::cli
