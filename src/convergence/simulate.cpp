#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "convergence/extremes.hpp"
#include "convergence/rate.hpp"
#include "convergence/resolved_simulation.hpp"
#include "convergence/spread.hpp"
#include "convergence/state.hpp"
#include "headgauge/metric_names.hpp"
#include "headgauge/synthetic.hpp"
#include "heads/tool.hpp"
#include "results/declared.hpp"

namespace headgauge {
namespace {

constexpr double kReferenceShare = 10;  // errors should be at least this many times the reference's
                                        // own error

class Simulation {
 public:
  Simulation(const SyntheticOptions& options, Progress* progress, std::stop_token stop)
      : plan_(resolve_simulation(options)),
        options_(plan_.options),
        progress_(progress),
        stop_(std::move(stop)),
        pool_(options_.threads),
        stage_(options_.journal, "simulate"),
        state_(find_sweep(options_.journal, plan_.factors.size(), options_.grid.size(),
                          options_.replicates)) {}

  Results run() {
    const auto start = std::chrono::steady_clock::now();
    sweep();
    if (!stop_.stop_requested() && plan_.exact) measure_balls();
    // This limit of softmax on Gaussian tokens does not depend on the scale.
    if (!stop_.stop_requested() && plan_.softmax && options_.tokens == "gaussian") {
      hardmax_done_ = hardmax_errors(options_.dimension, options_.grid, options_.replicates,
                                     options_.seed, pool_, stop_, hardmax_);
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    return results(seconds.count());
  }

 private:
  std::size_t scales() const { return plan_.factors.size(); }
  std::size_t points() const { return options_.grid.size(); }

  bool finished(std::size_t scale) const {
    return state_.references[scale] &&
           std::ranges::all_of(state_.cells[scale], [](const auto& c) { return c.has_value(); });
  }

  // Computes the exact references of all unfinished scales together.
  std::vector<Reference> references(const std::vector<std::size_t>& open) {
    std::vector<double> factors;
    for (std::size_t scale : open) factors.push_back(plan_.factors[scale]);
    const Index largest = options_.grid.back();
    const ReferenceQuestion question{
        plan_.experiment.law, plan_.experiment.map, factors, plan_.experiment.values,
        plan_.experiment.normalizer, plan_.experiment.norm,
        // The error of n tokens is at least that of n draws of the map; 120 n draws have about a
        // tenth of it.
        std::max<Index>(1'000'000, 120 * largest), options_.seed, stop_};
    return exact_references(question, pool_);
  }

  void sweep() {
    std::vector<std::size_t> open;
    for (std::size_t scale = 0; scale < scales(); ++scale) {
      if (!finished(scale)) open.push_back(scale);
    }
    for (int n : options_.grid) total_ += std::pow(n, 2) * options_.replicates;
    total_ *= static_cast<double>(scales());
    done_ = total_ * static_cast<double>(scales() - open.size()) / static_cast<double>(scales());
    report(0);
    std::vector<Reference> exact;
    if (plan_.exact_reference() && !open.empty()) exact = references(open);
    for (std::size_t i = 0; i < open.size() && !stop_.stop_requested(); ++i) {
      const auto key = static_cast<std::uint32_t>(open[i]);
      sweep_scale(open[i], plan_.exact_reference()
                               ? exact[i]
                               : sampled_reference(plan_.experiment, plan_.factors[open[i]],
                                                   options_.reference_tokens, key, pool_, stop_));
    }
  }

  void sweep_scale(std::size_t scale, const Reference& reference) {
    if (stop_.stop_requested()) return;
    state_.references[scale] = {
        std::sqrt(reference.moments.covariance.trace()),
        covariance_norm(reference.moments.covariance, plan_.experiment.norm), reference.mean_error,
        reference.covariance_error, reference.method};
    keep_reference(options_.journal, scale, *state_.references[scale]);
    for (std::size_t point = 0; point < points(); ++point) {
      const int n = options_.grid[point];
      const double work = std::pow(n, 2);
      if (state_.cells[scale][point]) {
        done_ += work * options_.replicates;
        continue;
      }
      const auto key = static_cast<std::uint32_t>(scale * 65536 + point);
      CellErrors errors;
      const auto start = std::chrono::steady_clock::now();
      const bool whole = run_cell(
          plan_.experiment, plan_.factors[scale], reference, n, key, options_.replicates, pool_,
          stop_, [&] { report(work); }, errors);
      sampling_ += std::chrono::steady_clock::now() - start;
      if (!whole) return;
      for (double error : errors.covariance) {
        if (std::isfinite(error)) continue;
        throw UsageError(fault("SyntheticOptions::scales", "outputs within single precision",
                               fmt::format("none at scale {:.3g}", options_.scales[scale]),
                               "choose smaller ones, or another SyntheticOptions::normalizer"));
      }
      keep_cell(options_.journal, scale, point, errors);
      state_.cells[scale][point] = std::move(errors);
    }
  }

  void report(double work) {
    done_ += work;
    if (progress_ != nullptr) progress_->update("scores", done_, total_);
  }

  void measure_balls() {
    // The error at horizon 1 grows by e^(R^2 / 2), which a grid of thousands of tokens can show.
    const double factor = plan_.factors.front() / plan_.horizons.front();
    balls_done_ = uniform_errors(plan_.experiment, factor, options_.grid, options_.radii,
                                 options_.replicates, pool_, stop_, balls_);
  }

  Results results(double seconds) {
    Results out;
    out.command = Command::simulate;
    out.tool = describe_tool(pool_.threads());
    out.model = {.name = options_.tokens + " tokens",
                 .family = "synthetic",
                 .layers = 1,
                 .heads = 1,
                 .kv_heads = 1,
                 .head_dim = options_.dimension};
    out.settings = plan_.settings();
    out.notices = plan_.notices;
    out.partial = stop_.stop_requested();
    out.set_coord("scale", options_.scales);
    out.set_coord("tokens", std::vector<double>(options_.grid.begin(), options_.grid.end()));
    out.set_coord("radius", options_.radii);
    write_sweep(out);
    if (balls_done_) write_balls(out);
    if (hardmax_done_) write_hardmax(out);
    out.timings = {.sampling = sampling_.count(), .total = seconds};
    return out;
  }

  // One of the two kinds of error: mean or covariance.
  struct Kind {
    const char* name;
    std::vector<double> CellErrors::*errors;
    double ScaleReference::*unit;
    double ScaleReference::*floor;
  };

  void write_sweep(Results& out) {
    LabelledArray& horizon = add_declared(out, metric::horizon, {"scale"});
    LabelledArray& paper = add_declared(out, metric::horizon_paper, {"scale"});
    LabelledArray& predicted = add_declared(out, metric::rate_predicted, {"scale"});
    for (std::size_t s = 0; s < scales(); ++s) {
      const double h = plan_.horizons[s];
      horizon.values[s] = h;
      paper.values[s] = h * std::sqrt(static_cast<double>(options_.dimension));
      if (plan_.softmax) predicted.values[s] = predicted_rate(h);
    }
    write_kind(
        out, {"mean", &CellErrors::mean, &ScaleReference::mean_unit, &ScaleReference::mean_error});
    write_kind(out, {"covariance", &CellErrors::covariance, &ScaleReference::covariance_unit,
                     &ScaleReference::covariance_error});
    std::string method;
    for (const auto& reference : state_.references) {
      if (reference) method = reference->method;
    }
    if (!method.empty()) out.settings["reference_method"] = method;
  }

  void write_kind(Results& out, const Kind& kind) {
    const std::string name = kind.name;
    LabelledArray& rate = add_declared(out, "rate_" + name, {"scale"});
    LabelledArray& under = add_declared(out, "points_under_floor_" + name, {"scale"});
    LabelledArray& own = add_declared(out, "reference_error_" + name);
    LabelledArray& relative = add_declared(out, "error_" + name, {"scale", "tokens"});
    LabelledArray& absolute = add_declared(out, "error_" + name + "_absolute", {"scale", "tokens"});
    for (LabelledArray* metric : {&rate, &relative, &absolute}) {
      metric->with_standard_errors().with_rows();
    }
    const std::vector<double> tokens(options_.grid.begin(), options_.grid.end());
    int floored = 0, coarse = 0;
    for (std::size_t s = 0; s < scales(); ++s) {
      if (!state_.references[s]) continue;
      const double unit = *state_.references[s].*kind.unit;
      const double error = *state_.references[s].*kind.floor;
      own.values[s] = error / unit;
      std::vector<double> means(points(), kUndefined), deviations(points(), kUndefined);
      double smallest = std::numeric_limits<double>::infinity();
      for (std::size_t p = 0; p < points(); ++p) {
        if (!state_.cells[s][p]) continue;
        const auto cell = {static_cast<Index>(s), static_cast<Index>(p)};
        const Spread spread = spread_of(*state_.cells[s][p].*kind.errors);
        means[p] = spread.mean;
        deviations[p] = spread.deviation;
        smallest = std::min(smallest, spread.mean);
        const double freedom = options_.replicates - 1;
        absolute.set(cell, {spread.mean, spread.standard_error, options_.replicates, freedom});
        relative.set(
            cell, {spread.mean / unit, spread.standard_error / unit, options_.replicates, freedom});
      }
      // If the tokens' own error equals the reference's, the two add up to sqrt 2 times that.
      const RateFit fit =
          fit_rate(tokens, means, deviations, options_.replicates, std::sqrt(2.0) * error);
      rate.set({static_cast<Index>(s)},
               {fit.rate, fit.standard_error, fit.points, fit.degrees_of_freedom()});
      under.values[s] = fit.under_floor;
      floored += fit.under_floor;
      if (plan_.exact_reference() && error > smallest / kReferenceShare) ++coarse;
    }
    tell_about(out, name, floored, coarse);
  }

  static void tell_about(Results& out, const std::string& name, int floored, int coarse) {
    if (floored > 0) {
      out.notices.push_back(
          fmt::format("error of the {}: {} points are within the noise of the reference, and left "
                      "out of the fit",
                      name, floored));
    }
    if (coarse > 0) {
      out.notices.push_back(fmt::format(
          "error of the {}: the reference is known to no better than a tenth of the smallest error "
          "at {} scales (reference_error_{})",
          name, coarse, name));
    }
  }

  void write_balls(Results& out) const {
    LabelledArray& error = add_declared(out, metric::uniform_error);
    LabelledArray& rate = add_declared(out, metric::uniform_rate);
    LabelledArray& constant = add_declared(out, metric::uniform_constant);
    LabelledArray& predicted = add_declared(out, metric::uniform_constant_predicted);
    for (LabelledArray* metric : {&error, &rate, &constant}) metric->with_standard_errors();
    rate.with_rows();
    const std::vector<double> tokens(options_.grid.begin(), options_.grid.end());
    for (std::size_t r = 0; r < options_.radii.size(); ++r) {
      std::vector<double> means, errors;
      for (std::size_t p = 0; p < points(); ++p) {
        const Estimate estimate{balls_.error[p][r], balls_.standard_error[p][r]};
        error.set({static_cast<Index>(p), static_cast<Index>(r)}, estimate);
        means.push_back(estimate.value);
        errors.push_back(std::isnan(estimate.standard_error) ? 0 : estimate.standard_error);
      }
      const RateFit fit = fit_rate(tokens, means, errors, 1);
      const auto ball = {static_cast<Index>(r)};
      rate.set(ball, {fit.rate, fit.standard_error, fit.points, fit.degrees_of_freedom()});
      const double root = std::sqrt(tokens.back());
      constant.set(ball, {root * means.back(), root * balls_.standard_error.back()[r]});
      predicted.values[r] = balls_.constant[r];
    }
  }

  void write_hardmax(Results& out) const {
    LabelledArray& error = add_declared(out, metric::hardmax_error);
    LabelledArray& law = add_declared(out, metric::hardmax_error_predicted);
    error.values = hardmax_.error;
    error.standard_error = hardmax_.standard_error;
    for (std::size_t p = 0; p < points(); ++p) {
      law.values[p] = hardmax_law(options_.dimension, options_.grid[p]);
    }
  }

  ResolvedSimulation plan_;
  const SyntheticOptions& options_;
  Progress* progress_;
  std::stop_token stop_;
  ThreadPool pool_;
  Journal::Stage stage_;
  SweepState state_;
  UniformErrors balls_;
  HardmaxErrors hardmax_;
  std::chrono::duration<double> sampling_{0};  // time spent on the cells of this run
  bool balls_done_ = false, hardmax_done_ = false;
  double done_ = 0, total_ = 0;
};

}  // namespace

Results simulate(const SyntheticOptions& options, Progress* progress, std::stop_token stop) {
  return Simulation(options, progress, std::move(stop)).run();
}

}  // namespace headgauge
