#include "scan/largest_changes.hpp"

#include <cmath>
#include <optional>
#include <string>

#include "results/summary_line.hpp"

namespace headgauge {
namespace {

struct Subject {
  const char* metric;
  const char* name;
  bool of_top_n;
};

constexpr Subject kSubjects[] = {
    {"entropy_normalized", "The entropy (of its maximum)", false},
    {"separability", "The share of keys told apart", true},
    {"jacobian_spectral", "The norm of the gradient", false},
};

summary::MaybeLine largest_change(const Results& results, const Subject& subject) {
  const std::string dim = intervention_dimension(results);
  if (results.coord(dim) == nullptr) return {};
  const auto names = results.coord_names(dim);
  const auto top_n = judged_top_n(results);
  if (subject.of_top_n && !top_n) return {};
  const auto at = [&](const HeadName& head, Index intervention) {
    const Pick layer{"layer", head.layer_index}, of{"head", head.head_index},
        under{dim, intervention};
    return subject.of_top_n
               ? find_cell(results, subject.metric, {layer, of, under, {"top_n", *top_n}})
               : find_cell(results, subject.metric, {layer, of, under});
  };
  std::optional<HeadName> head;
  Index intervention = 0;
  double most = 0;
  for (const HeadName& candidate : measured_heads(results)) {
    const auto original = at(candidate, 0);
    if (!original) continue;
    for (Index k = 1; k < results.coord_size(dim); ++k) {
      const auto swapped = at(candidate, k);
      if (!swapped || !(std::abs(swapped->value - original->value) > most)) continue;
      most = std::abs(swapped->value - original->value);
      head = candidate;
      intervention = k;
    }
  }
  if (!head) return {};
  summary::Line line;
  line.say(subject.name);
  if (subject.of_top_n) {
    line.say(" at N = ");
    line.label(results, "top_n", *top_n);
  }
  line.say(" changes most in ").head(*head).say(" under ");
  line.say(names[static_cast<std::size_t>(intervention)]);
  line.say(": from ").number(*at(*head, 0)).say(" to ").number(*at(*head, intervention));
  return line.say(".").done();
}

// Only of the interventions: the original's output is its own.
summary::MaybeLine largest_output_change(const Results& results) {
  const std::string dim = intervention_dimension(results);
  if (results.coord(dim) == nullptr) return {};
  const auto names = results.coord_names(dim);
  std::optional<HeadName> head;
  std::optional<MetricCell> most;
  Index intervention = 0;
  for (const HeadName& candidate : measured_heads(results)) {
    for (Index k = 1; k < results.coord_size(dim); ++k) {
      const auto cell =
          find_cell(results, "output_change",
                    {{"layer", candidate.layer_index}, {"head", candidate.head_index}, {dim, k}});
      if (!cell || (most && !(cell->value > most->value))) continue;
      head = candidate;
      most = cell;
      intervention = k;
    }
  }
  if (!most) return {};
  summary::Line line;
  line.say("The output changes most in ").head(*head).say(" under ");
  line.say(names[static_cast<std::size_t>(intervention)])
      .say(": by ");
  return line.number(*most, 100).say(" % of its norm.").done();
}

}  // namespace

std::vector<SummaryLine> largest_changes(const Results& results) {
  std::vector<SummaryLine> lines;
  for (const Subject& subject : kSubjects) {
    if (auto line = largest_change(results, subject)) lines.push_back(std::move(*line));
  }
  if (auto line = largest_output_change(results)) lines.push_back(std::move(*line));
  return lines;
}

}  // namespace headgauge
