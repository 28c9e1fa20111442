#include "experiments/gains.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "results/mean_of.hpp"
#include "statistics/false_discoveries.hpp"
#include "statistics/student.hpp"

namespace headgauge {
namespace {

constexpr double kLeastGain = 1e-4;  // nats; a smaller change may be rounding error

// Returns the p-value for the loss not having fallen.
double p_of_gain(const MetricCell& change) {
  return t_test(mean_of(change), 0, Tail::below).p;
}

bool same_place(const Candidate& a, const Candidate& b) {
  if (!a.head) return false;
  return a.head->layer == b.head->layer && a.head->head == b.head->head;
}

}  // namespace

std::optional<MetricCell> cell_of(const Results& results, std::string_view metric,
                                  const Candidate& candidate, Pick further) {
  const LabelledArray* array = results.metric(metric);
  if (array == nullptr) return std::nullopt;
  const std::string dim = intervention_dimension(results);
  const Pick intervention{dim, candidate.intervention};
  if (!candidate.head) return find_cell(results, metric, {intervention, further});
  const Pick layer{"layer", candidate.head->layer_index};
  if (!array->has_dim("head")) return find_cell(results, metric, {layer, intervention, further});
  return find_cell(results, metric,
                   {layer, {"head", candidate.head->head_index}, intervention, further});
}

std::vector<Candidate> candidates(const Results& results, std::string_view metric) {
  std::vector<Candidate> found;
  const LabelledArray* change = results.metric(metric);
  if (change == nullptr) return found;
  const Index interventions = results.coord_size(intervention_dimension(results));
  const auto add = [&](std::optional<HeadName> head) {
    for (Index k = 1; k < interventions; ++k) {
      Candidate candidate{head, k, {}};
      const auto cell = cell_of(results, metric, candidate);
      if (!cell) continue;
      candidate.change = *cell;
      found.push_back(std::move(candidate));
    }
  };
  if (!change->has_dim("layer")) {
    add(std::nullopt);
    return found;
  }
  const auto layers = results.coord_numbers("layer"), heads = results.coord_numbers("head");
  for (std::size_t l = 0; l < layers.size(); ++l) {
    HeadName name{static_cast<Index>(l), 0, static_cast<int>(layers[l]), -1};
    if (!change->has_dim("head")) {
      add(name);
      continue;
    }
    for (std::size_t h = 0; h < heads.size(); ++h) {
      name.head_index = static_cast<Index>(h);
      name.head = static_cast<int>(heads[h]);
      add(name);
    }
  }
  return found;
}

std::vector<Candidate> choices(const std::vector<Candidate>& all, const LossGains& gains) {
  std::vector<Candidate> best;
  for (const Candidate& candidate : all) {
    if (!gains.is_gain(candidate.change)) continue;
    const auto same = std::ranges::find_if(
        best, [&](const Candidate& other) { return same_place(candidate, other); });
    if (same == best.end()) {
      best.push_back(candidate);
    } else if (candidate.change.value < same->change.value) {
      *same = candidate;
    }
  }
  std::ranges::stable_sort(best, {}, [](const Candidate& c) { return c.change.value; });
  return best;
}

LossGains::LossGains(const Results& comparison, std::string_view metric) {
  std::vector<double> p;
  for (const Candidate& candidate : candidates(comparison, metric)) {
    p.push_back(p_of_gain(candidate.change));
    if (!std::isnan(p.back())) ++tried_;
  }
  const std::vector<double> adjusted = adjusted_p_values(p);
  const auto found =
      std::ranges::count_if(adjusted, [](double q) { return q <= kFalseDiscoveries; });
  if (found == 0) return;
  critical_p_ = kFalseDiscoveries * static_cast<double>(found) / static_cast<double>(tried_);
}

bool LossGains::is_gain(const MetricCell& change) const {
  return change.value < -kLeastGain && p_of_gain(change) <= critical_p_;
}

double LossGains::threshold(const MetricCell& change) const {
  if (std::isnan(critical_p_)) return kUndefined;
  const double errors = student_quantile(critical_p_, mean_of(change).degrees_of_freedom);
  return std::min(-kLeastGain, -errors * change.standard_error);
}

}  // namespace headgauge
