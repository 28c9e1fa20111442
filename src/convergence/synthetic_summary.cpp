#include <cmath>

#include "headgauge/synthetic.hpp"
#include "results/summary_line.hpp"

namespace headgauge {
namespace {

using summary::Line;
using summary::MaybeLine;

// How many scales have a fitted rate of this kind, and how many of them are at least the predicted
// one less 3 standard errors.
MaybeLine rates_sentence(const Results& results, const std::string& kind) {
  const LabelledArray* rate = results.metric("rate_" + kind);
  const LabelledArray* predicted = results.metric("rate_predicted");
  int fitted = 0, above = 0;
  for (std::size_t s = 0; s < rate->values.size(); ++s) {
    if (std::isnan(rate->values[s]) || std::isnan(predicted->values[s])) continue;
    ++fitted;
    if (rate->values[s] >= predicted->values[s] - 3 * rate->standard_error[s]) ++above;
  }
  if (fitted == 0) return {};
  Line line;
  line.say("The ").say(kind).say(" converges at least as fast as 1 / (2 (1 + H^2)) says at ");
  line.derived(above).say(" of ").derived(fitted);
  return line.say(" scales.").done();
}

// The first and the last cell of a metric over one dim.
struct Ends {
  std::optional<MetricCell> first, last;
};

Ends ends(const Results& results, const char* metric, const char* dim) {
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
  if (results.metric("hardmax_error") == nullptr) return {};
  const Ends error = ends(results, "hardmax_error", "tokens");
  const Ends law = ends(results, "hardmax_error_predicted", "tokens");
  if (!error.first || !error.last || !law.first || !law.last) return {};
  Line line;
  line.say("Hardmax limit: error ").number(*error.first).say(" at ");
  label(results, "tokens", false, line);
  line.say(" tokens and still ").number(*error.last).say(" at ");
  label(results, "tokens", true, line);
  line.say(" (its law: ").number(*law.first).say(", ").number(*law.last);
  return line.say("): it falls with the root of the logarithm of n only.").done();
}

MaybeLine ball_sentence(const Results& results) {
  if (results.metric("uniform_constant") == nullptr) return {};
  const Ends rate = ends(results, "uniform_rate", "radius");
  const Ends constant = ends(results, "uniform_constant", "radius");
  if (!rate.first || !rate.last || !constant.first || !constant.last) return {};
  Line line;
  line.say("Worst query of a ball (at horizon 1): the error falls as n^-").number(*rate.first);
  line.say(" at R = ");
  label(results, "radius", false, line);
  line.say(" and n^-").number(*rate.last).say(" at R = ");
  label(results, "radius", true, line);
  line.say("; sqrt(n) times it grows from ").number(*constant.first).say(" to ");
  return line.number(*constant.last).say(".").done();
}

}  // namespace

std::vector<SummaryLine> summarize_simulation(const Results& results) {
  std::vector<SummaryLine> lines;
  for (const MaybeLine& line :
       {rates_sentence(results, "mean"), rates_sentence(results, "covariance"),
        ball_sentence(results), hardmax_sentence(results)}) {
    if (line) lines.push_back(*line);
  }
  return lines;
}

}  // namespace headgauge
