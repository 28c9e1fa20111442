#include <algorithm>
#include <cmath>
#include <vector>

#include "headgauge/changes.hpp"
#include "headgauge/metric_names.hpp"
#include "headgauge/synthetic.hpp"
#include "results/mean_of.hpp"
#include "results/next_commands.hpp"
#include "results/summary_line.hpp"
#include "statistics/false_discoveries.hpp"
#include "statistics/student.hpp"

namespace headgauge {
namespace {

using summary::explained;
using summary::Line;
using summary::MaybeLine;

// Says how many scales have a fitted rate of this kind, and for how many it is significantly below
// the prediction (Student's t, Benjamini and Hochberg over the scales).
MaybeLine rates_sentence(const Results& results, const std::string& kind) {
  const LabelledArray* rate = results.metric("rate_" + kind);
  const LabelledArray* predicted = results.metric(metric::rate_predicted);
  if (rate == nullptr || predicted == nullptr || rate->dims() != predicted->dims()) return {};
  std::vector<double> p_of_slower;
  for (std::size_t s = 0; s < rate->values.size(); ++s) {
    if (std::isnan(rate->values[s]) || std::isnan(predicted->values[s])) continue;
    p_of_slower.push_back(t_test(mean_of(rate->at_offset(s)), predicted->values[s], Tail::below).p);
  }
  if (p_of_slower.empty()) return {};
  const auto slower = std::ranges::count_if(adjusted_p_values(p_of_slower),
                                            [](double p) { return p <= kFalseDiscoveries; });
  Line line;
  line.say("The ").say(kind).say(" converges significantly more slowly than 1 / (2 (1 + H^2)) at ");
  line.derived(static_cast<double>(slower)).say(" of ");
  return line.derived(static_cast<double>(p_of_slower.size())).say(" scales.").done();
}

// The first and the last cell of a metric with one dim.
struct Ends {
  std::optional<MetricCell> first, last;
};

Ends ends(const Results& results, const char* metric, const char* dim) {
  if (results.coord_size(dim) == 0) return {};
  return {find_cell(results, metric, {{dim, 0}}),
          find_cell(results, metric, {{dim, results.coord_size(dim) - 1}})};
}

void label(const Results& results, const char* dim, bool last, Line& line) {
  const auto labels = results.coord_numbers(dim);
  const double value = last ? labels.back() : labels.front();
  const Index index = last ? results.coord_size(dim) - 1 : 0;
  line.fact({fmt::format("{}", value), {Line::Kind::coordinate, dim, {index}}, value});
}

MaybeLine hardmax_sentence(const Results& results) {
  if (results.metric(metric::hardmax_error) == nullptr) return {};
  const Ends error = ends(results, metric::hardmax_error, "tokens");
  const Ends law = ends(results, metric::hardmax_error_predicted, "tokens");
  if (!error.first || !error.last || !law.first || !law.last) return {};
  Line line;
  line.say("The error of the hardmax limit is ").number(*error.first).say(" at ");
  label(results, "tokens", false, line);
  line.say(" tokens and still ").number(*error.last).say(" at ");
  label(results, "tokens", true, line);
  line.say(" (its law: ").number(*law.first).say(", ").number(*law.last);
  return line.say("): it falls only as the inverse square root of log n.").done();
}

MaybeLine ball_sentence(const Results& results) {
  if (results.metric(metric::uniform_constant) == nullptr) return {};
  const Ends rate = ends(results, metric::uniform_rate, "radius");
  const Ends constant = ends(results, metric::uniform_constant, "radius");
  if (!rate.first || !rate.last || !constant.first || !constant.last) return {};
  Line line;
  line.say("The error of the worst query of a ball (at horizon 1) falls as n^-")
      .number(*rate.first);
  line.say(" at R = ");
  label(results, "radius", false, line);
  line.say(" and n^-").number(*rate.last).say(" at R = ");
  label(results, "radius", true, line);
  line.say("; sqrt(n) times it grows from ").number(*constant.first).say(" to ");
  return line.number(*constant.last).say(".").done();
}

}  // namespace

std::vector<SummaryLine> summarize_simulation(const Results& results) {
  constexpr const char* kRates =
      "Paper B's rate holds if no rate is shown to be slower; these are the inputs of its theorem, "
      "not those of a model.";
  std::vector<SummaryLine> lines;
  for (const MaybeLine& line :
       {explained(rates_sentence(results, "mean"), kRates, next::kConverge),
        explained(rates_sentence(results, "covariance"), kRates, next::kConverge),
        explained(ball_sentence(results),
                  "The bound over a ball concerns its worst query, whose output settles far later "
                  "than that of a typical query if the ball is wide.",
                  next::kConverge),
        explained(hardmax_sentence(results),
                  "A head that picks one key settles far more slowly than one that averages.",
                  next::kConverge)}) {
    if (line) lines.push_back(*line);
  }
  return lines;
}

}  // namespace headgauge
