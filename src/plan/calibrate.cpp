#include "headgauge/calibrate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "headgauge/metric_names.hpp"
#include "plan/converge_budgets.hpp"
#include "plan/decisions.hpp"
#include "plan/documents.hpp"
#include "plan/joint_change.hpp"
#include "plan/output.hpp"
#include "plan/parts.hpp"
#include "results/declared.hpp"
#include "results/mean_of.hpp"
#include "statistics/false_discoveries.hpp"
#include "statistics/student.hpp"

namespace headgauge {
namespace {

constexpr std::size_t kEvery = 2;  // one of so many tolerances of ConvergeBudgets is used

std::vector<double> ascending(std::vector<double> rises) {
  if (rises.empty() || std::ranges::any_of(rises, [](double rise) { return !(rise > 0); })) {
    throw UsageError(fault("CalibrateOptions::tolerance_nats", "rises of the loss above 0",
                           rises.empty() ? "none" : "one that is not", "give some, such as 0.01"));
  }
  std::ranges::sort(rises);
  const auto twice = std::ranges::unique(rises);
  rises.erase(twice.begin(), twice.end());
  return rises;
}

// The budgets of one tolerance, and their effect on the texts they were chosen on.
struct Step {
  double tolerance = 0;
  PerHead<HeadPlan> plan;
  double share = 1;
  ByDocument change = {};
  ByDocument answers = {};  // change of the loss of answers; empty without cases
};

// The result for one allowed rise.
struct Calibrated {
  double rise = 0;
  const Step* step = nullptr;  // null: no tolerance stays below the rise
  ByDocument confirmed = {};
  ByDocument confirmed_answers = {};
};

// Measures the loss of answers of cases, if there are any.
class AnswerChange {
 public:
  AnswerChange(HeadSource* cases, const std::string& set, const std::stop_token& stop) {
    if (cases != nullptr) change_.emplace(*cases, set, known_, stop);
  }
  ByDocument operator()(const PerHead<HeadPlan>& plan) {
    return change_ ? change_->change(plan).text : ByDocument();
  }

 private:
  Evaluations known_;
  std::optional<JointChange> change_;
};

class Calibration {
 public:
  Calibration(const CalibrationTexts& texts, const CalibrateOptions& options, Progress* progress,
              std::stop_token stop)
      : texts_(texts),
        options_(options),
        rises_(ascending(options.tolerance_nats)),
        context_(common_length({&texts.learn, &texts.confirm}, "calibration", kShortestContext)),
        space_(texts.learn.info(), context_, {}),
        progress_(progress),
        stop_(std::move(stop)) {
    if (!texts.learn.info().has_loss) {
      throw UnsupportedError(fault("calibration", "a model with a loss",
                                   texts.learn.info().name + ", which has none",
                                   "use tolerances of the output"));
    }
    if (texts.learn.info().documents.size() < 2) {
      throw UsageError(fault("calibration", "at least two documents to learn from", "one",
                             "give more text, or shorter lengths"));
    }
  }

  void measure() {
    learn();
    choose();
    confirm();
  }

  std::vector<MadePlan> write(Results& results) const {
    write_steps(results);
    write_rises(results);
    std::vector<MadePlan> plans;
    for (std::size_t r = 0; r < calibrated_.size(); ++r) plans.push_back(made_plan(r, results));
    return plans;
  }

 private:
  bool with_answers() const { return texts_.learn_answers != nullptr; }

  void learn() {
    Evaluations known;
    JointChange loss(texts_.learn, "learn", known, stop_);
    AnswerChange answers(texts_.learn_answers, "learn answers", stop_);
    progress_.begin("calibrate:", 0, 0.3);
    progress_.update("budgets", 0);
    const ConvergeBudgets budgets(texts_.learn, context_, options_.seed, options_.threads, nullptr,
                                  stop_);
    const std::vector<double>& tolerances = budgets.tolerances();
    progress_.begin("calibrate: tolerance", 0.3, 0.9);
    for (std::size_t t = 0; t < tolerances.size(); t += kEvery) {
      progress_.update(fmt::format("{:.2g}", tolerances[t]),
                       static_cast<double>(t) / static_cast<double>(tolerances.size()));
      Step step{tolerances[t], budgets.at(space_, t, true)};
      step.share = cache_share(step.plan, space_.source(), context_);
      step.change = loss.change(step.plan).text;
      step.answers = answers(step.plan);
      steps_.push_back(std::move(step));
    }
  }

  void choose() {
    std::vector<ByDocument> changes, answers;
    for (const Step& step : steps_) {
      changes.push_back(step.change);
      answers.push_back(step.answers);
    }
    for (const double rise : rises_) {
      // Both must be shown, so that neither test needs a correction.
      std::size_t good = shown_below(changes, rise);
      if (with_answers()) good = std::min(good, shown_below(answers, rise));
      calibrated_.push_back({rise, good > 0 ? &steps_[good - 1] : nullptr});
    }
  }

  void confirm() {
    Evaluations known;
    JointChange loss(texts_.confirm, "confirm", known, stop_);
    AnswerChange answers(texts_.confirm_answers, "confirm answers", stop_);
    progress_.begin("calibrate: confirm", 0.9, 1);
    double done = 0;
    for (Calibrated& chosen : calibrated_) {
      progress_.update(fmt::format("{:g} nats", chosen.rise),
                       done++ / static_cast<double>(calibrated_.size()));
      if (chosen.step == nullptr) continue;
      chosen.confirmed = loss.change(chosen.step->plan).text;
      chosen.confirmed_answers = answers(chosen.step->plan);
    }
  }

  void write_steps(Results& results) const {
    std::vector<double> tolerances;
    for (const Step& step : steps_) tolerances.push_back(step.tolerance);
    results.set_coord("calibrated_tolerance", tolerances);
    LabelledArray& share = add_declared(results, metric::calibration_cache_share);
    for (Index t = 0; t < std::ssize(steps_); ++t) share({t}) = steps_[t].share;
    const auto write = [&](const char* name, ByDocument Step::*changes) {
      LabelledArray& change = add_declared(results, name).with_standard_errors().with_rows();
      for (Index t = 0; t < std::ssize(steps_); ++t)
        change.set({t}, estimate_of(steps_[t].*changes));
    };
    write(metric::calibration_loss_change, &Step::change);
    if (with_answers()) write(metric::calibration_answer_change, &Step::answers);
  }

  void write_rises(Results& results) const {
    results.set_coord("rise", rises_);
    LabelledArray& tolerance = add_declared(results, metric::tolerance_for_rise);
    LabelledArray& share = add_declared(results, metric::calibrated_cache_share);
    for (Index r = 0; r < std::ssize(calibrated_); ++r) {
      const Calibrated& chosen = calibrated_[r];
      tolerance({r}) = chosen.step != nullptr ? chosen.step->tolerance : -1;
      share({r}) = chosen.step != nullptr ? chosen.step->share : 1;
    }
    write_confirmed({metric::calibrated_loss_change, metric::calibrated_loss_change_low,
                     metric::calibrated_loss_change_high, metric::calibrated_loss_change_p},
                    &Calibrated::confirmed, results);
    if (with_answers()) {
      write_confirmed({metric::calibrated_answer_change, metric::calibrated_answer_change_low,
                       metric::calibrated_answer_change_high, metric::calibrated_answer_change_p},
                      &Calibrated::confirmed_answers, results);
    }
    write_keys(results);
  }

  // The names of a change, the ends of its interval and its p.
  struct ChangeNames {
    const char* change;
    const char* low;
    const char* high;
    const char* p;
  };

  void write_confirmed(const ChangeNames& names, ByDocument Calibrated::*changes,
                       Results& results) const {
    LabelledArray& change = add_declared(results, names.change).with_standard_errors().with_rows();
    LabelledArray& low = add_declared(results, names.low);
    LabelledArray& high = add_declared(results, names.high);
    std::vector<double> p;
    for (Index r = 0; r < std::ssize(calibrated_); ++r) {
      const Calibrated& chosen = calibrated_[r];
      p.push_back(kUndefined);
      if (chosen.step == nullptr) continue;
      const Estimate estimate = estimate_of(chosen.*changes);
      change.set({r}, estimate);
      const Interval interval = t_interval(mean_of(estimate));
      low({r}) = interval.low;
      high({r}) = interval.high;
      p.back() = t_test(chosen.*changes, chosen.rise, Tail::below).p;
    }
    std::ranges::copy(adjusted_p_values(p), add_declared(results, names.p).values.begin());
  }

  void write_keys(Results& results) const {
    LabelledArray& keys = add_declared(results, metric::calibrated_keys);
    const Dimension& layers = results.require_coord("layer");
    const Dimension& heads = results.require_coord("head");
    const SourceInfo& info = space_.source();
    const int shared = info.heads / info.kv_heads;
    for (Index l = 0; l < layers.size(); ++l) {
      for (Index h = 0; h < heads.size(); ++h) {
        const int layer = static_cast<int>(layers.numbers()[static_cast<std::size_t>(l)]);
        const int head = static_cast<int>(heads.numbers()[static_cast<std::size_t>(h)]);
        for (Index r = 0; r < std::ssize(calibrated_); ++r) {
          const Calibrated& chosen = calibrated_[static_cast<std::size_t>(r)];
          const HeadPlan of_head =
              chosen.step != nullptr ? chosen.step->plan(layer, head / shared) : HeadPlan{};
          keys({l, h, r}) = static_cast<double>(cached_keys(of_head, layer, info, context_));
        }
      }
    }
  }

  MadePlan made_plan(std::size_t r, const Results& results) const {
    const Calibrated& chosen = calibrated_[r];
    MadePlan made{fmt::format("rise of {:g}", chosen.rise), empty_plan(texts_.learn)};
    made.plan.context = context_;
    if (chosen.step == nullptr) return made;
    made.plan.heads = chosen.step->plan;
    const auto place = static_cast<Index>(r);
    made.plan.measured["measured"] =
        measured_json(space_.source(), chosen.step->share,
                      results.require_metric(metric::calibrated_loss_change).at({place}),
                      std::ssize(texts_.confirm.info().documents));
    made.plan.measured["tolerance"] = chosen.step->tolerance;
    made.plan.measured["select"] = text_of(texts_.learn);
    made.plan.measured["confirm"] = text_of(texts_.confirm);
    return made;
  }

  const CalibrationTexts& texts_;
  const CalibrateOptions& options_;
  std::vector<double> rises_;
  Index context_;
  PlanSpace space_;
  Parts progress_;
  std::stop_token stop_;
  std::vector<Step> steps_;
  std::vector<Calibrated> calibrated_;
};

}  // namespace

std::vector<MadePlan> calibrate_budgets(const CalibrationTexts& texts,
                                        const CalibrateOptions& options, Results& results,
                                        Progress* progress, std::stop_token stop) {
  try {
    Calibration calibration(texts, options, progress, std::move(stop));
    calibration.measure();
    return calibration.write(results);
  } catch (const Stopped&) {
    results.partial = true;
    return {};
  }
}

}  // namespace headgauge
