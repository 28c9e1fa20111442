// The tests of all claims. What a claim says, how we read it and which thresholds of ours its test
// has stands in claims/.
#pragma once

#include <vector>

#include "headgauge/results.hpp"
#include "reproduce/evidence.hpp"

namespace headgauge {

// A test of a claim sets the verdict and names the numbers that it found.
using ClaimTest = void (*)(Evidence&);

// clang-format off
#define HEADGAUGE_CLAIM_TESTS(TEST) \
  TEST(weights_are_bounded) TEST(weights_vanish) TEST(distance_grows_linearly) \
  TEST(distance_bound_is_safe) TEST(distance_bound_is_conservative) \
  TEST(distance_bound_tightens) TEST(distances_converge) TEST(returns_diminish) \
  TEST(critical_n_is_small) TEST(critical_n_grows_sublinearly) \
  TEST(beyond_six_percent_alike) TEST(beyond_six_percent_apart) TEST(sphere_reaches_the_band) \
  TEST(norm_follows_temperature) TEST(cold_inflates_the_spread) TEST(heat_loses_selectivity) \
  TEST(queries_select_independently) \
  TEST(proportional_margin_collapses) TEST(proportional_separability_falls) \
  TEST(separability_settles) TEST(separability_bound_tracks) \
  TEST(separability_bound_without_sphere) TEST(coverage_is_independent) \
  TEST(gradient_bound_is_safe) TEST(gradient_is_within_quarter) \
  TEST(sensitivity_follows_temperature) TEST(sensitivity_falls_by_two_orders) TEST(steps_agree) \
  TEST(cold_raises_the_norm_alone) TEST(entropy_grows_where_separability_falls) \
  TEST(entropy_warns) TEST(falling_separability_warns) TEST(answers_are_lost_with_context) \
  TEST(growing_entropy_loses_answers) TEST(falling_separability_loses_answers) \
  TEST(gaussian_mean_rate) TEST(gaussian_covariance_rate) TEST(horizon_slows_down) \
  TEST(sphere_rates) TEST(subgaussian_rates) TEST(moment_constant_is_polynomial) \
  TEST(ball_rate) TEST(hardmax_is_logarithmic) TEST(model_rates) \
  TEST(model_slower_heads_see_further) TEST(model_converges_with_random_keys) \
  TEST(model_converges_with_window) TEST(error_constant_predicts)
// clang-format on

#define HEADGAUGE_DECLARE(name) void name(Evidence& found);
HEADGAUGE_CLAIM_TESTS(HEADGAUGE_DECLARE)
#undef HEADGAUGE_DECLARE

struct DeclaredClaim {
  Claim words;  // name, paper, figure, statement, reading, test and theorem
  Thresholds thresholds;
  ClaimTexts texts;
  // What the verdict may turn with. A claim without places has a test of its own over pieces of the
  // text, cases of tasks or draws.
  bool with_places = false, with_sinks = false;
  ClaimTest test = nullptr;

  Claim judge(const Results& results, const Thresholds& used) const;
};

// Lists the claims of paper "A" or "B".
const std::vector<DeclaredClaim>& declared_claims(std::string_view paper);

// Which verdicts on paper A stand wherever the text is read, and with the sinks as without them.

// A verdict needs this many places in the text.
inline constexpr std::size_t kPlaces = 4;

// The results of a scan at each place; `beyond` are those of the same places without the sinks, and
// may be fewer. The first of each is that of the text's beginning.
struct Places {
  std::vector<Results> with, beyond;
};

// Judges every claim at every place. A claim holds, or does not, only where all of them say so;
// else it cannot be told, and Claim::measured says what it turns with. Numbers and facts are those
// of the first place, with the mean and the standard error of the first fact over the places.
std::vector<Claim> judge_at(const Places& places);

}  // namespace headgauge
