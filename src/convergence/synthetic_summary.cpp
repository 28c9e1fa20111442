#include <fmt/format.h>

#include <cmath>

#include "headgauge/synthetic.hpp"

namespace headgauge {
namespace {

// How many scales have a fitted rate of this kind, and how many of them are at least the predicted
// one less 3 standard errors.
std::string rates_sentence(const Results& results, const std::string& kind) {
  const MetricArray* rate = results.metric("rate_" + kind);
  const MetricArray* predicted = results.metric("rate_predicted");
  int fitted = 0, above = 0;
  for (std::size_t s = 0; s < rate->values.size(); ++s) {
    if (std::isnan(rate->values[s]) || std::isnan(predicted->values[s])) continue;
    ++fitted;
    if (rate->values[s] >= predicted->values[s] - 3 * rate->stderr_[s]) ++above;
  }
  if (fitted == 0) return "";
  return fmt::format(
      "The {} converges at least as fast as 1 / (2 (1 + H^2)) says at {} of {} scales.", kind,
      above, fitted);
}

std::string hardmax_sentence(const Results& results) {
  const MetricArray* error = results.metric("hardmax_error");
  const MetricArray* law = results.metric("hardmax_error_predicted");
  if (error == nullptr) return "";
  const auto tokens = results.coord_numbers("tokens");
  return fmt::format(
      "Hardmax limit: error {:.3f} at {} tokens and still {:.3f} at {} (its law: {:.3f}, {:.3f}): "
      "it falls with the root of the logarithm of n only.",
      error->values.front(), tokens.front(), error->values.back(), tokens.back(),
      law->values.front(), law->values.back());
}

std::string ball_sentence(const Results& results) {
  const MetricArray* constant = results.metric("uniform_constant");
  const MetricArray* rate = results.metric("uniform_rate");
  if (constant == nullptr) return "";
  const auto radii = results.coord_numbers("radius");
  const auto shown = [](double value) {
    return std::isnan(value) ? std::string("-") : fmt::format("{:.2f}", value);
  };
  return fmt::format(
      "Worst query of a ball (at horizon 1): the error falls as n^-{} at R = {} and n^-{} at R = "
      "{}; "
      "sqrt(n) times it grows from {:.3g} to {:.3g}.",
      shown(rate->values.front()), radii.front(), shown(rate->values.back()), radii.back(),
      constant->values.front(), constant->values.back());
}

}  // namespace

std::vector<std::string> summarize_simulation(const Results& results) {
  std::vector<std::string> lines;
  for (std::string line : {rates_sentence(results, "mean"), rates_sentence(results, "covariance"),
                           ball_sentence(results), hardmax_sentence(results)}) {
    if (!line.empty()) lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace headgauge
