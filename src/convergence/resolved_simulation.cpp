#include "convergence/resolved_simulation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include "headgauge/parallel.hpp"

#include <algorithm>
#include <cmath>

#include "base/memory.hpp"

namespace headgauge {
namespace {

constexpr int kMostDimension = 1024;
constexpr int kMostTokens = 1'000'000;
constexpr int kPaperReference = 100'000;

// The paper's settings and the quick ones (docs/mathematics.md 5b).
struct Defaults {
  double variance, first_scale, last_scale;
  int first_full, last_full;
};
Defaults defaults_of(const std::string& tokens) {
  if (tokens == "gaussian" || tokens == "atoms") return {.1, .05, 50, 1000, 30'000};
  return {0, 10, 1e5, 10'000, 100'000};
}
constexpr int kFirstQuick = 500, kLastQuick = 4000, kScales = 12;

void check(bool fine, const char* option, const char* expected, const std::string& found,
           const char* advice) {
  if (!fine) throw UsageError(fault(option, expected, found, advice));
}

bool positive(double value) {
  return std::isfinite(value) && value > 0;
}

// Checks that the values are ascending and valid.
template <class T, class Fits>
void check_list(const std::vector<T>& list, const char* option, const char* expected, Fits fits) {
  bool fine = std::ranges::all_of(list, fits);
  for (std::size_t i = 1; i < list.size(); ++i) fine = fine && list[i] > list[i - 1];
  check(fine, option, expected, fmt::format("{}", fmt::join(list, ", ")), "correct the list");
}

void fill_in(SyntheticOptions& o) {
  const std::vector<std::string> kinds = {"gaussian", "sphere", "atoms"};
  check(std::ranges::find(kinds, o.tokens) != kinds.end(), "SyntheticOptions::tokens",
        "one of gaussian, sphere, atoms", o.tokens, "choose one of them");
  const Defaults defaults = defaults_of(o.tokens);
  check(o.dimension >= 1 && o.dimension <= kMostDimension, "SyntheticOptions::dimension",
        "a whole number from 1 to 1024", std::to_string(o.dimension), "choose another");
  if (!o.variance) o.variance = defaults.variance;
  check(o.tokens == "sphere" || positive(*o.variance), "SyntheticOptions::variance",
        "a finite number above 0", fmt::format("{}", *o.variance), "choose another");
  check(positive(o.radius), "SyntheticOptions::radius", "a finite number above 0",
        fmt::format("{}", o.radius), "choose another");
  check(o.tokens != "atoms" || (o.radius >= 1 && o.radius <= 1000), "SyntheticOptions::radius",
        "1 to 1000 standard deviations for atoms", fmt::format("{}", o.radius), "choose another");
  check(o.values == "identity" || o.values == "random", "SyntheticOptions::values",
        "identity or random", o.values, "choose one of them");
  check(o.scales.empty() || o.horizons.empty(), "SyntheticOptions::scales",
        "scales or SyntheticOptions::horizons", "both", "leave one out");
  if (o.scales.empty() && o.horizons.empty()) {
    o.scales = geometric(defaults.first_scale, defaults.last_scale, kScales);
  }
  check_list(o.scales, "SyntheticOptions::scales", "ascending finite numbers above 0", positive);
  check_list(o.horizons, "SyntheticOptions::horizons", "ascending finite numbers above 0",
             positive);
  check_list(o.radii, "SyntheticOptions::radii", "ascending finite numbers above 0", positive);
  check(!o.radii.empty(), "SyntheticOptions::radii", "at least one", "none", "give one");
  if (o.points == 0) o.points = o.full ? 12 : 8;
  if (o.replicates == 0) o.replicates = o.full ? 200 : 20;
  check(o.replicates >= 1 && o.points >= 1, "SyntheticOptions::replicates", "at least 1",
        std::to_string(std::min(o.replicates, o.points)), "choose another");
  if (o.grid.empty()) {
    const int first = o.full ? defaults.first_full : kFirstQuick;
    const int last = o.full ? defaults.last_full : kLastQuick;
    for (double n : geometric(first, last, o.points)) {
      const int tokens = static_cast<int>(n + 1e-6);  // truncated, as the paper's code does
      if (o.grid.empty() || tokens > o.grid.back()) o.grid.push_back(tokens);
    }
  }
  o.points = static_cast<int>(o.grid.size());
  check_list(o.grid, "SyntheticOptions::grid", "ascending numbers of tokens from 2 to 1000000",
             [](int n) { return n >= 2 && n <= kMostTokens; });
  o.threads = thread_count(o.threads);
}

// Makes the normalizer, and detects whether it is equivalent to softmax.
void choose_normalizer(ResolvedSimulation& plan) {
  SyntheticOptions& o = plan.options;
  plan.normalizer = make_normalizer(o.normalizer, "SyntheticOptions::normalizer");
  const NormalizerTraits traits = plan.normalizer->traits();
  refuse_if<UnsupportedError>(
      traits.unit_norms, "SyntheticOptions::normalizer", "a normalizer that takes any scores",
      o.normalizer + ", which scales queries and keys to length 1", "choose another");
  plan.softmax = traits.pointwise && plan.normalizer->softmax_scale({2, 1}).has_value();
  plan.exact = traits.pointwise && !traits.length_aware && traits.simplex;
  refuse_if<UnsupportedError>(!plan.softmax && o.tokens == "atoms", "SyntheticOptions::normalizer",
                              "softmax for atoms", o.normalizer, "choose Gaussian tokens");
  if (!plan.softmax) plan.experiment.normalizer = plan.normalizer.get();
  if (o.reference.empty()) {
    o.reference = plan.exact ? "exact" : "sample";
    if (!plan.exact) {
      plan.notices.push_back(
          fmt::format("{} has no known limit: the reference is one large sample, and no worst "
                      "query of a ball is searched (SyntheticOptions::radii)",
                      o.normalizer));
    }
  }
  check(o.reference == "exact" || o.reference == "sample", "SyntheticOptions::reference",
        "exact or sample", o.reference, "choose one of them");
  refuse_if<UnsupportedError>(o.reference == "exact" && !plan.exact,
                              "SyntheticOptions::reference = exact",
                              "a normalizer of the form F(l) / sum F(l)", o.normalizer,
                              "use SyntheticOptions::reference = sample");
  check(o.reference == "sample" || o.reference_tokens == 0, "SyntheticOptions::reference_tokens",
        "SyntheticOptions::reference = sample", "the exact reference", "leave it out");
  if (o.reference == "sample") {
    const int rows = static_cast<int>(std::min<long long>(4LL * o.grid.back(), kMostTokens));
    if (o.reference_tokens == 0) o.reference_tokens = plan.softmax ? kPaperReference : rows;
    check(o.reference_tokens >= 4 && o.reference_tokens <= kMostTokens,
          "SyntheticOptions::reference_tokens", "a whole number from 4 to 1000000",
          std::to_string(o.reference_tokens), "choose another");
  }
}

// Checks that memory suffices before anything is allocated.
void require_room(const ResolvedSimulation& plan) {
  const auto tokens = static_cast<Index>(plan.options.grid.back());
  const auto threads =
      static_cast<std::size_t>(std::min(plan.options.threads, plan.options.replicates));
  std::size_t bytes =
      threads * cell_bytes(plan.options.dimension, plan.experiment.normalizer, tokens);
  if (!plan.exact_reference()) {
    const auto sample = static_cast<Index>(plan.options.reference_tokens);
    bytes = std::max(bytes, cell_bytes(plan.options.dimension, plan.experiment.normalizer, sample));
  }
  require_memory(bytes,
                 fmt::format("{} tokens of dimension {} on {} threads", tokens,
                             plan.options.dimension, threads),
                 "use fewer SyntheticOptions::threads, or a smaller SyntheticOptions::grid");
}

Eigen::MatrixXd normals(const SyntheticOptions& o, std::uint32_t which, Index rows, Index cols) {
  std::vector<double> z(static_cast<std::size_t>(rows * cols));
  RandomStream(o.seed, RandomDomain::synthetic_model, which, 0).normals(z);
  return Eigen::Map<Eigen::MatrixXd>(z.data(), rows, cols);
}

TokenLaw law_of(const SyntheticOptions& o) {
  TokenLaw law;
  law.dimension = o.dimension;
  law.sphere = o.tokens == "sphere";
  law.atoms = o.tokens == "atoms";
  law.radius = o.radius;
  law.variance = *o.variance;
  return law;
}

void build(ResolvedSimulation& plan) {
  const SyntheticOptions& o = plan.options;
  Simulated& experiment = plan.experiment;
  const auto d = static_cast<double>(o.dimension);
  const bool sphere = o.tokens == "sphere";
  experiment.law = law_of(o);
  experiment.seed = o.seed;
  experiment.norm = sphere ? CovarianceNorm::spectral : CovarianceNorm::frobenius;
  // A = W_k^T W_q / sqrt(d); for spheres the published code does not scale the entries of W.
  experiment.map = normals(o, 1, o.dimension, o.dimension).transpose() *
                   normals(o, 0, o.dimension, o.dimension) / std::sqrt(d);
  if (!sphere) experiment.map /= d;
  if (plan.softmax) experiment.map *= *plan.normalizer->softmax_scale({2, 1});
  if (o.values == "random") {
    experiment.values = normals(o, 2, o.dimension, o.dimension);
    if (!sphere) experiment.values /= std::sqrt(d);
  }
  const double unit = map_horizon(experiment.law.covariance(), experiment.map);
  for (double h : o.horizons) {
    plan.options.scales.push_back(sphere ? std::sqrt(h / unit) : h / unit);
  }
  for (double scale : plan.options.scales) {
    plan.factors.push_back(sphere ? scale * scale : scale);
    plan.horizons.push_back(plan.factors.back() * unit);
    check(plan.horizons.back() < 1e30, "SyntheticOptions::scales", "scores within single precision",
          fmt::format("a horizon of {:.3g}", plan.horizons.back()), "choose smaller ones");
  }
}

}  // namespace

nlohmann::ordered_json ResolvedSimulation::settings() const {
  SyntheticOptions o = options;
  // Null if the tokens have no such parameter.
  if (o.tokens == "sphere") o.variance.reset();
  nlohmann::ordered_json json;
  write_settings(options_of(o), json);
  if (o.tokens == "gaussian") json["radius"] = nullptr;
  if (o.reference != "sample") json["reference_tokens"] = nullptr;
  json["covariance_norm"] = experiment.norm == CovarianceNorm::spectral ? "spectral" : "frobenius";
  return json;
}

ResolvedSimulation resolve_simulation(const SyntheticOptions& options) {
  ResolvedSimulation plan;
  plan.options = options;
  fill_in(plan.options);
  choose_normalizer(plan);
  require_room(plan);
  build(plan);
  return plan;
}

}  // namespace headgauge
