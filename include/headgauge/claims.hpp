// The claims of the two papers (docs/reproduce.md). Each is a function of results and returns the
// verdict, the test and the measured values. If the results lack data for a claim, Claim::measured
// says what to scan with.
#pragma once

#include <string>
#include <vector>

#include "headgauge/results.hpp"

namespace headgauge {

// Paper A; takes results of scan() or reproduce_limits().
Claim distance_grows_linearly(const Results& results);
Claim distance_bound_is_safe(const Results& results);
Claim distance_bound_is_conservative(const Results& results);
Claim distance_bound_tightens(const Results& results);
Claim distances_converge(const Results& results);
Claim returns_diminish(const Results& results);
Claim critical_n_is_small(const Results& results);
Claim critical_n_grows_sublinearly(const Results& results);
Claim proportional_margin_collapses(const Results& results);
Claim proportional_separability_falls(const Results& results);
Claim separability_settles(const Results& results);
Claim separability_bound_tracks(const Results& results);
Claim separability_bound_without_sphere(const Results& results);
Claim sensitivity_follows_temperature(const Results& results);
Claim sensitivity_falls_by_two_orders(const Results& results);
Claim steps_agree(const Results& results);
Claim cold_raises_the_norm_alone(const Results& results);
Claim gradient_bound_is_safe(const Results& results);
Claim gradient_is_within_quarter(const Results& results);
Claim weights_vanish(const Results& results);
Claim weights_are_bounded(const Results& results);
Claim coverage_is_independent(const Results& results);
Claim entropy_grows_where_separability_falls(const Results& results);
Claim entropy_warns(const Results& results);
Claim falling_separability_warns(const Results& results);
Claim answers_are_lost_with_context(const Results& results);
Claim growing_entropy_loses_answers(const Results& results);
Claim falling_separability_loses_answers(const Results& results);
std::vector<Claim> limits_claims(const Results& results);

// Paper B; takes results of reproduce_tokens().
Claim gaussian_mean_rate(const Results& results);
Claim gaussian_covariance_rate(const Results& results);
Claim horizon_slows_down(const Results& results);
Claim sphere_rates(const Results& results);
Claim ball_rate(const Results& results);
Claim hardmax_is_logarithmic(const Results& results);
Claim model_rates(const Results& results);
Claim model_slower_heads_see_further(const Results& results);
Claim model_converges_with_random_keys(const Results& results);
Claim model_converges_with_window(const Results& results);
Claim error_constant_predicts(const Results& results);
std::vector<Claim> tokens_claims(const Results& results);

}  // namespace headgauge
