// Paper A's claims on vanishing weights and on heads that complement each other
// (docs/reproduce.md).
#include <algorithm>
#include <cmath>

#include "headgauge/metric_names.hpp"
#include "headgauge/ranks.hpp"
#include "reproduce/claim_tests.hpp"
#include "reproduce/judgement.hpp"

namespace headgauge {
namespace {

constexpr double kFalling = -1e-6;  // an exponent below this is negative beyond rounding
constexpr double kMiddleN = 20;
constexpr double kRoundingOfLogs = 1e-4;  // of logarithms of weights in single precision

}  // namespace

void weights_are_bounded(Evidence& found) {
  std::vector<double> uses;
  for (Index l = 0; l < std::ssize(found.numbers("length")); ++l) {
    const auto at = finite_values(found.of_heads(metric::weight_bound_use, {{"length", l}}));
    uses.insert(uses.end(), at.begin(), at.end());
  }
  found.need(!uses.empty(), "weights");
  found.describe("use", uses);
  const auto [least, most] = std::ranges::minmax(uses);
  const bool within = least >= -kRoundingOfLogs && most <= 1 + kRoundingOfLogs;
  found.verdict = verdict_if(within, !within);
}

void weights_vanish(Evidence& found) {
  const double high = -1 / (1 + found.threshold("tolerance"));
  const auto exponents =
      judge_powers(found, metric::max_weight_with_sinks, {"top_n", 0}, 1 / high, high);
  found.set("falling", std::ranges::count_if(exponents, [](const Estimate& exponent) {
              return place_of(exponent, -HUGE_VAL, kFalling) == Place::inside;
            }));
}

void coverage_is_independent(Evidence& found) {
  const auto sizes = found.numbers("top_n");
  const Index n =
      std::ranges::find_if(sizes, [](double size) { return size > kMiddleN; }) - sizes.begin() - 1;
  const Index layers = n < 0 ? 0 : std::ssize(found.numbers("layer"));
  const double margin = found.threshold("tolerance");
  HeadVotes votes;
  std::vector<double> measured, printed, apart;
  for (Index layer = 0; layer < layers; ++layer) {
    const auto at = [&](const char* metric) {
      return find_cell(found.results, metric, {{"layer", layer}, {"top_n", n}});
    };
    const auto own = at(metric::union_coverage), paper = at(metric::union_coverage_paper);
    if (!own || !paper) continue;
    measured.push_back(own->value);
    printed.push_back(paper->value);
    if (const auto cell = at(metric::union_coverage_independent)) apart.push_back(cell->value);
    votes.add(place_of(t_interval(mean_of(*own)), paper->value - margin, paper->value + margin));
  }
  found.set({{"layers", votes.all()}, {"fewest", kFewestVotes}});
  found.need(votes.all() >= kFewestVotes, "coverage");
  found.verdict = votes.verdict(found.threshold("layers"));
  name_votes(found, votes);
  found.set({{"n", sizes[n]},
             {"coverage", median(measured)},
             {"formula", median(printed)},
             {"independent", median(apart)}});
}

void queries_select_independently(Evidence& found) {
  const auto n = find_label(found.results, "top_n", kMiddleN);
  const auto at = [&](const char* metric) {
    return n ? found.of_heads(metric, {{"top_n", *n}}) : std::vector<double>();
  };
  const auto own = at(metric::query_overlap), random = at(metric::query_overlap_random);
  const auto differences = less(own, random);
  found.need(finite_values(differences).size() >= kFewestOfMedian, "sets");
  judge_median(found, differences, -found.threshold("overlap"), found.threshold("overlap"));
  found.set({{"own", median_of(own)},
             {"random", median_of(random)},
             {"distinct",
              median_of(over(at(metric::query_distinct), at(metric::query_distinct_random)))}});
}

}  // namespace headgauge
