#include "headgauge/series.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "headgauge/cells.hpp"
#include "headgauge/metric_names.hpp"
#include "headgauge/text.hpp"
#include "results/declared.hpp"
#include "results/diff_notices.hpp"
#include "results/mean_of.hpp"
#include "statistics/false_discoveries.hpp"
#include "statistics/student.hpp"

namespace headgauge {
namespace {

constexpr const char* kStep = "step";
constexpr const char* kMetric = "series_metric";

std::optional<int> last_number(std::string_view name) {
  const std::size_t end = name.find_last_of("0123456789");
  if (end == std::string_view::npos) return {};
  const std::size_t before = name.find_last_not_of("0123456789", end);
  const std::string_view digits =
      name.substr(before == std::string_view::npos ? 0 : before + 1, end - before);
  int number = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (read.ec != std::errc{}) return {};  // too large
  return number;
}

// The values of one head in one metric, where they are defined.
struct Curve {
  std::vector<double> steps;
  std::vector<MeanWithError> values;
};

// Returns the least-squares slope, with the errors of the values as independent.
Estimate slope_of(const Curve& curve) {
  const auto count = static_cast<double>(curve.steps.size());
  const double mean = std::accumulate(curve.steps.begin(), curve.steps.end(), 0.0) / count;
  double spread = 0;
  for (const double step : curve.steps) spread += (step - mean) * (step - mean);
  Estimate slope{.value = 0};
  double variance = 0, freedom = kKnownError;
  for (std::size_t i = 0; i < curve.steps.size(); ++i) {
    const double weight = (curve.steps[i] - mean) / spread;
    slope.value += weight * curve.values[i].value;
    variance += weight * weight * curve.values[i].standard_error * curve.values[i].standard_error;
    freedom = std::min(freedom, curve.values[i].degrees_of_freedom);
  }
  slope.standard_error = std::sqrt(variance);
  slope.degrees_of_freedom = freedom;
  return slope;
}

// Returns the first step from which on all values are nearer to the last than to the first.
double half_step(const Curve& curve) {
  const double first = curve.values.front().value, last = curve.values.back().value;
  double found = kUndefined;
  for (std::size_t i = curve.steps.size(); i-- > 0;) {
    if (std::abs(curve.values[i].value - last) > std::abs(curve.values[i].value - first)) break;
    found = curve.steps[i];
  }
  return first == last ? kUndefined : found;
}

class Series {
 public:
  Series(std::span<const Results> runs, std::span<const std::string> names,
         const SeriesOptions& options)
      : runs_(runs), names_(names), options_(options) {
    order_runs();
    require_same_heads();
  }

  Results join() {
    const Results& last = run(count() - 1);
    results_.command = Command::series;
    results_.model = last.model;
    results_.text = last.text;
    results_.set_coord("layer", numbers_of(last, "layer"));
    results_.set_coord("head", numbers_of(last, "head"));
    results_.set_coord(kStep, steps_);
    heads_ = measured_heads(last);
    choose_metrics();
    results_.set_coord(kMetric, metrics_);
    for (const std::string& name : metrics_) add_curves(name);
    derive();
    describe();
    return std::move(results_);
  }

 private:
  const Results& run(std::size_t step) const { return runs_[order_[step]]; }
  std::size_t count() const { return runs_.size(); }

  static std::vector<double> numbers_of(const Results& results, std::string_view coord) {
    const auto numbers = results.coord_numbers(std::string(coord));
    return {numbers.begin(), numbers.end()};
  }

  void order_runs() {
    if (runs_.size() < 2) {
      throw UsageError(fault("series", "two results or more", std::to_string(runs_.size()),
                             "give the results of several checkpoints"));
    }
    const std::vector<int> steps = options_.steps.empty() ? steps_of(names_) : options_.steps;
    steps_.assign(steps.begin(), steps.end());
    const std::set<int> distinct(steps.begin(), steps.end());
    if (steps.size() != runs_.size() || distinct.size() != runs_.size() ||
        (!options_.steps.empty() && !std::ranges::is_sorted(steps))) {
      throw UsageError(fault(
          "SeriesOptions::steps",
          fmt::format("{} rising numbers, one for each of the results", runs_.size()),
          fmt::format("{}", fmt::join(steps, ",")), "give the steps in the order of the results"));
    }
    order_.resize(runs_.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::ranges::sort(order_, {}, [&](std::size_t i) { return steps_[i]; });
    std::ranges::sort(steps_);
  }

  void require_same_heads() const {
    for (const Results& other : runs_) {
      const std::string& name = names_[static_cast<std::size_t>(&other - runs_.data())];
      for (const char* coord : {"layer", "head"}) {
        if (other.coord(coord) != nullptr && runs_.front().coord(coord) != nullptr &&
            numbers_of(other, coord) == numbers_of(runs_.front(), coord)) {
          continue;
        }
        throw BadInputError(fault(
            name, fmt::format("the {}s of {}", coord, names_.front()),
            other.coord(coord) == nullptr ? "none" : labels_text(other.coord(coord)->labels()),
            "join runs of one model and of the same heads"));
      }
      if (longest_length(other) == longest_length(runs_.front())) continue;
      const auto length = [](const Results& results) {
        const auto longest = longest_length(results);
        return longest ? std::to_string(*longest) : "none";
      };
      throw BadInputError(fault(name, "the longest length " + length(runs_.front()), length(other),
                                "measure all checkpoints at the same lengths"));
    }
  }

  bool is_of_heads(const std::string& name) const {
    const LabelledArray* array = run(count() - 1).metric(name);
    if (array == nullptr || !array->has_dim("layer") || !array->has_dim("head")) return false;
    const MetricInfo* info = find_metric_info(name);
    if (info != nullptr && (!info->interval_of.empty() || info->identifier)) return false;
    return std::ranges::all_of(runs_, [&](const Results& other) {
      return std::ranges::any_of(heads_, [&](const HeadName& head) {
        return find_judged_cell(other, name, head).has_value();
      });
    });
  }

  void choose_metrics() {
    for (const std::string& name : options_.metrics) {
      if (is_of_heads(name)) continue;
      throw UsageError(fault("SeriesOptions::metrics", "metrics of heads that all results have",
                             in_quotes(name) + did_you_mean(name, names_of(run(count() - 1))),
                             "`headgauge list measures` lists them"));
    }
    for (const auto& [name, array] : run(count() - 1).metrics) {
      const bool wanted = options_.metrics.empty() ||
                          std::ranges::find(options_.metrics, name) != options_.metrics.end();
      if (wanted && is_of_heads(name)) metrics_.push_back(name);
    }
    if (!metrics_.empty()) return;
    throw BadInputError(fault(names_.front(), "metrics of heads that all results have", "none",
                              "scan every checkpoint with the same --measures"));
  }

  static std::vector<std::string> names_of(const Results& results) {
    std::vector<std::string> names;
    for (const auto& [name, array] : results.metrics) names.push_back(name);
    return names;
  }

  void add_curves(const std::string& name) {
    const LabelledArray& source = *run(count() - 1).metric(name);
    LabelledArray& metric =
        results_.add_metric(name, {"layer", "head", kStep}, source.unit).with_standard_errors();
    for (const HeadName& head : heads_) {
      for (std::size_t step = 0; step < count(); ++step) {
        const auto found = find_judged_cell(run(step), name, head);
        if (!found || found->is_none) continue;
        metric.set({head.layer_index, head.head_index, static_cast<Index>(step)},
                   {.value = found->value,
                    .standard_error = found->standard_error,
                    .degrees_of_freedom = found->degrees_of_freedom});
      }
    }
  }

  Curve curve_of(const std::string& name, const HeadName& head) const {
    const LabelledArray& metric = results_.require_metric(name);
    Curve curve;
    for (std::size_t step = 0; step < count(); ++step) {
      const Estimate found =
          metric.at({head.layer_index, head.head_index, static_cast<Index>(step)});
      if (std::isnan(found.value)) continue;
      curve.steps.push_back(steps_[step]);
      curve.values.push_back(mean_of(found));
    }
    return curve;
  }

  void derive() {
    LabelledArray& change = add_declared(results_, metric::series_change).with_standard_errors();
    LabelledArray& adjusted = add_declared(results_, metric::series_change_p);
    LabelledArray& slope = add_declared(results_, metric::series_slope).with_standard_errors();
    LabelledArray& half = add_declared(results_, metric::series_half_step);
    std::vector<double> p;
    std::vector<std::vector<Index>> cells;
    for (Index m = 0; m < std::ssize(metrics_); ++m) {
      for (const HeadName& head : heads_) {
        const Curve curve = curve_of(metrics_[static_cast<std::size_t>(m)], head);
        if (curve.steps.size() < count()) continue;  // undefined at some step
        const std::vector<Index> at = {head.layer_index, head.head_index, m};
        const TTest test = welch_test(curve.values.back(), curve.values.front());
        change.set(at, {.value = curve.values.back().value - curve.values.front().value,
                        .standard_error = test.standard_error,
                        .degrees_of_freedom = test.degrees_of_freedom});
        slope.set(at, slope_of(curve));
        half.values[half.offset(at)] = half_step(curve);
        if (std::isnan(test.p)) continue;
        p.push_back(test.p);
        cells.push_back(at);
      }
    }
    p = adjusted_p_values(p);
    for (std::size_t i = 0; i < p.size(); ++i) {
      adjusted.values[adjusted.offset(cells[i])] = p[i];
      changed_ += p[i] < options_.level ? 1 : 0;
    }
    tested_ = p.size();
  }

  void describe() {
    results_.summary.push_back(
        {fmt::format("{} results from step {:g} to step {:g}: {} of {} metrics of a head are shown "
                     "to change from the first to the last (false discovery rate {:g} %).",
                     count(), steps_.front(), steps_.back(), changed_, tested_,
                     100 * options_.level),
         {},
         {}});
    results_.settings["runs"] = nlohmann::ordered_json::array();
    for (const std::size_t place : order_) results_.settings["runs"].push_back(names_[place]);
    bool same = true;
    for (std::size_t step = 1; step < count(); ++step) {
      same = same && compare_texts(run(0), run(step)) == SameTexts::yes;
    }
    results_.notices.push_back(
        same
            ? "All results are of the same text: errors of changes assume independent runs, so "
              "they are too large where the runs move together"
            : "The results are not shown to be of the same text: a change may be due to the texts");
  }

  std::span<const Results> runs_;
  std::span<const std::string> names_;
  const SeriesOptions& options_;
  std::vector<double> steps_;
  std::vector<std::size_t> order_;  // of the runs, by step
  std::vector<HeadName> heads_;
  std::vector<std::string> metrics_;
  std::size_t changed_ = 0, tested_ = 0;
  Results results_;
};

}  // namespace

std::vector<Option> options_of(SeriesOptions& options) {
  return {{.member = "SeriesOptions::steps",
           .value = &options.steps,
           .form = "S,S...",
           .group = option_group::compared,
           .help = "Steps of the results, in their order (default: the last number in each name, "
                   "else 1, 2, 3 ...)",
           .least = 0},
          {.member = "SeriesOptions::metrics",
           .value = &options.metrics,
           .form = "NAME,NAME...",
           .group = option_group::compared,
           .help = "Only these metrics (default: all metrics of heads that all results have)"},
          {.member = "SeriesOptions::level",
           .value = &options.level,
           .form = "P",
           .group = option_group::compared,
           .help = "Share of the listed changes that may be due to chance (default {})",
           .below = 1}};
}

std::vector<int> steps_of(std::span<const std::string> names) {
  std::vector<int> steps;
  std::set<int> distinct;
  for (const std::string& name : names) {
    const auto number = last_number(name);
    if (number && distinct.insert(*number).second) steps.push_back(*number);
  }
  if (steps.size() == names.size()) return steps;
  steps.resize(names.size());
  std::iota(steps.begin(), steps.end(), 1);
  return steps;
}

Results series(std::span<const Results> runs, std::span<const std::string> names,
               const SeriesOptions& options) {
  return Series(runs, names, options).join();
}

}  // namespace headgauge
