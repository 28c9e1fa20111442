#include "headgauge/series.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "headgauge/catalogue.hpp"
#include "headgauge/cells.hpp"
#include "headgauge/metric_names.hpp"
#include "headgauge/text.hpp"
#include "results/declared.hpp"
#include "results/diff_notices.hpp"
#include "results/sentences.hpp"
#include "results/series_changes.hpp"
#include "results/series_notices.hpp"
#include "results/texts_apart.hpp"

namespace headgauge {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kStep = "step";
constexpr const char* kMetric = "series_metric";

void require_metrics(const std::vector<std::string>& metrics, const std::string& file) {
  if (!metrics.empty()) return;
  throw BadInputError(fault(file, "metrics of heads that all results have", "none",
                            "scan every checkpoint with the same --measures"));
}

class Series {
 public:
  Series(std::vector<NamedRun> runs, std::span<const std::string> names,
         const SeriesOptions& options)
      : runs_(std::move(runs)), options_(options) {
    order_runs(names);
    require_same_cells();
  }

  Results join() {
    const Results& last = run(count() - 1);
    results_.command = Command::series;
    results_.model = last.model;
    results_.text = last.text;
    results_.flags = last.flags;
    results_.partial = std::ranges::any_of(runs_, [](auto& one) { return one.results->partial; });
    results_.set_coord("layer", numbers_of(last, "layer"));
    results_.set_coord("head", numbers_of(last, "head"));
    results_.layers_done = static_cast<int>(results_.coord_size("layer"));
    results_.set_coord(kStep, steps_);
    heads_ = measured_heads(last);
    choose_metrics();
    if (depends_on_n()) {
      require_same("the judged N", judged_n, "scan all checkpoints with the same --top-n");
    }
    results_.set_coord(kMetric, metrics_);
    for (const std::string& name : metrics_) add_curves(name);
    add_changes();
    add_roles();
    describe();
    return std::move(results_);
  }

 private:
  const Results& run(std::size_t step) const { return *runs_[step].results; }
  std::size_t count() const { return runs_.size(); }

  static std::vector<double> numbers_of(const Results& results, std::string_view coord) {
    const auto numbers = results.coord_numbers(std::string(coord));
    return {numbers.begin(), numbers.end()};
  }

  void order_runs(std::span<const std::string> names) {
    if (count() < 2) {
      throw UsageError(fault("series", "two results or more", std::to_string(count()),
                             "give the results of several checkpoints"));
    }
    steps_ = options_.steps;
    if (steps_.empty()) steps_ = steps_of(names);
    if (steps_.empty()) {
      counted_ = true;
      steps_.resize(count());
      std::iota(steps_.begin(), steps_.end(), 1);
    }
    const auto rises = std::ranges::adjacent_find(steps_, std::greater_equal()) == steps_.end();
    if (steps_.size() != count() || (!options_.steps.empty() && !rises)) {
      throw UsageError(fault("SeriesOptions::steps",
                             fmt::format("{} rising numbers, one for each of the results", count()),
                             fmt::format("{}", fmt::join(steps_, ",")),
                             "give the steps in the order of the results"));
    }
    std::vector<std::size_t> order(count());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [&](std::size_t i) { return steps_[i]; });
    std::vector<NamedRun> sorted;
    for (const std::size_t i : order) sorted.push_back(runs_[i]);
    runs_ = std::move(sorted);
    std::ranges::sort(steps_);
  }

  // Returns the N at which the metrics that depend on N are read.
  static std::optional<double> judged_n(const Results& results) {
    const auto place = judged_top_n(results);
    if (!place) return {};
    return results.coord_numbers("top_n")[static_cast<std::size_t>(*place)];
  }

  bool depends_on_n() const {
    return std::ranges::any_of(metrics_, [&](const std::string& name) {
      return run(count() - 1).metric(name)->has_dim("top_n");
    });
  }

  void require_same_cells() const {
    const auto& [first, first_name] = runs_.front();
    for (const auto& [other, name] : runs_) {
      require_one_run(*other, name);
      if (other->coord(kStep) != nullptr) {
        throw BadInputError(fault(name, "the results of one checkpoint", "those of several steps",
                                  "give the results of a scan"));
      }
      for (const char* coord : {"layer", "head"}) {
        const auto labels = [&](const Results& results) {
          return results.coord(coord) == nullptr ? "none"
                                                 : labels_text(results.coord(coord)->labels());
        };
        if (other->coord(coord) != nullptr && first->coord(coord) != nullptr &&
            numbers_of(*other, coord) == numbers_of(*first, coord)) {
          continue;
        }
        throw BadInputError(
            fault(name, fmt::format("the {}s {} of {}", coord, labels(*first), first_name),
                  labels(*other), "join runs of one model and of the same heads"));
      }
    }
    require_same("the longest length", longest_length,
                 "measure all checkpoints at the same lengths");
  }

  // Throws BadInputError if `of(run)` is not the same for all runs.
  template <class Of>
  void require_same(const char* what, const Of& of, const char* advice) const {
    const auto text = [](const auto& number) {
      return number ? fmt::format("{}", *number) : std::string("none");
    };
    const auto& [first, first_name] = runs_.front();
    for (const auto& [other, name] : runs_) {
      if (of(*other) == of(*first)) continue;
      throw BadInputError(fault(name,
                                fmt::format("{} {}, as in {}", what, text(of(*first)), first_name),
                                text(of(*other)), advice));
    }
  }

  bool is_of_heads(const std::string& name) const {
    const LabelledArray* array = run(count() - 1).metric(name);
    if (array == nullptr || !array->has_dim("layer") || !array->has_dim("head")) return false;
    if (array->identifier) return false;
    return std::ranges::all_of(runs_, [&](const NamedRun& other) {
      return std::ranges::any_of(heads_, [&](const HeadName& head) {
        return find_judged_cell(*other.results, name, head).has_value();
      });
    });
  }

  void choose_metrics() {
    for (const std::string& name : options_.metrics) {
      if (is_of_heads(name)) continue;
      throw UsageError(fault("SeriesOptions::metrics", "metrics of heads that all results have",
                             in_quotes(name) + metric_hint(name, run(count() - 1).metric_names()),
                             "`headgauge list measures` lists them"));
    }
    for (const auto& [name, array] : run(count() - 1).metrics) {
      const bool wanted = options_.metrics.empty() ||
                          std::ranges::find(options_.metrics, name) != options_.metrics.end();
      if (wanted && is_of_heads(name)) metrics_.push_back(name);
    }
    require_metrics(metrics_, runs_.front().name);
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

  void add_changes() {
    LabelledArray& change = add_declared(results_, metric::series_change).with_standard_errors();
    LabelledArray& slope = add_declared(results_, metric::series_slope).with_standard_errors();
    for (Index m = 0; m < std::ssize(metrics_); ++m) {
      const LabelledArray& values = results_.require_metric(metrics_[static_cast<std::size_t>(m)]);
      const LabelledArray changes = difference(values.isel(kStep, 0), values.isel(kStep, -1));
      for (const HeadName& head : heads_) {
        const StepCurve curve = curve_of(results_, values, head.layer_index, head.head_index);
        if (curve.steps.size() < count()) {
          if (!curve.steps.empty()) ++undefined_[metrics_[static_cast<std::size_t>(m)]];
          continue;
        }
        const std::vector<Index> at = {head.layer_index, head.head_index, m};
        change.set(at, changes.at({head.layer_index, head.head_index}));
        slope.set(at, slope_of(curve));
      }
    }
  }

  // Says when a head first has a role.
  void add_roles() {
    std::vector<Scope> roles;
    for (const FlagInfo& info : flag_infos()) {
      const auto heads = [&](const NamedRun& run) {
        return std::ranges::count(run.results->flags, info.name, &Flag::name);
      };
      const auto first = std::ranges::find_if(runs_, heads);
      if (!info.role || first == runs_.end()) continue;
      roles.emplace_back()
          .give("role_name", info.name)
          .give("first_step", label_of(results_, kStep, first - runs_.begin()))
          .count("at_first", heads(*first))
          .count("at_last", heads(runs_.back()));
    }
    add_sentences("series_roles", results_, Scope().give("roles", std::move(roles)),
                  results_.summary);
  }

  void describe() {
    if (const auto length = longest_length(run(0))) results_.settings["length"] = *length;
    if (const auto n = judged_n(run(count() - 1)); n && depends_on_n()) {
      results_.settings["judged_n"] = *n;
    }
    const auto settings = differing_settings(runs_);
    for (std::size_t step = 0; step < count(); ++step) {
      results_.settings["runs"].push_back(
          described_run(run(step), runs_[step].name, settings[step]));
    }
    if (counted_) {
      results_.notices.push_back(
          "the names give no steps, so the steps are 1, 2 ... in the given order "
          "(SeriesOptions::steps sets them)");
    }
    for (std::string& notice : series_notices(runs_, undefined_, results_)) {
      results_.notices.push_back(std::move(notice));
    }
  }

  std::vector<NamedRun> runs_;  // by step
  const SeriesOptions& options_;
  std::vector<double> steps_;
  bool counted_ = false;  // the steps number the runs
  std::vector<HeadName> heads_;
  std::vector<std::string> metrics_;
  std::map<std::string, std::int64_t> undefined_;  // heads that lack a value at some step
  Results results_;
};

// Joins the runs of one text, one of each step.
Results join_text(std::span<const Results* const> runs, std::span<const std::string> names,
                  const SeriesOptions& options) {
  std::vector<NamedRun> named;
  for (std::size_t step = 0; step < runs.size(); ++step) {
    named.push_back({runs[step], names[step]});
  }
  return Series(std::move(named), names, options).join();
}

// The metrics that the series of all texts have, and those that only some have.
struct MetricsOfTexts {
  std::vector<std::string> shared, missing;
};

MetricsOfTexts metrics_of(std::span<const Results> joined) {
  std::set<std::string> names;
  for (const Results& one : joined) {
    const auto of_text = one.coord_names(kMetric);
    names.insert(of_text.begin(), of_text.end());
  }
  MetricsOfTexts found;
  for (const std::string& name : names) {
    const bool everywhere =
        std::ranges::all_of(joined, [&](const Results& one) { return one.metric(name); });
    (everywhere ? found.shared : found.missing).push_back(name);
  }
  return found;
}

// Joins the runs of each text, and returns the mean over the texts.
Results join_texts(std::span<const std::vector<Results>> runs, std::span<const std::string> names,
                   SeriesOptions options) {
  const std::vector<std::vector<Results>> texts =
      runs_by_text(std::vector<std::span<const Results>>(runs.begin(), runs.end()), names);
  std::vector<Results> joined;
  const auto join = [&] {
    joined.clear();
    for (const std::vector<Results>& of_text : texts) {
      std::vector<const Results*> of_steps;
      for (const Results& run : of_text) of_steps.push_back(&run);
      joined.push_back(join_text(of_steps, names, options));
    }
  };
  join();
  // A metric may be undefined on one of the texts.
  const MetricsOfTexts metrics = metrics_of(joined);
  options.metrics = metrics.shared;
  require_metrics(options.metrics, names.front());
  if (!metrics.missing.empty()) join();
  std::vector<std::string> described;
  for (std::size_t step = 0; step < runs.size(); ++step) {
    described.push_back(fmt::format("/runs/{}", step));
  }
  Results mean = mean_over_texts(joined, described);
  if (!metrics.missing.empty()) mean.notices.push_back(missing_on_some_texts(metrics.missing));
  for (const Results& one : std::span(joined).subspan(1)) {
    for (const char* where : {"length", "judged_n"}) {
      const auto value = [&](const Results& of) { return of.settings.value(where, Json()); };
      if (value(one) == value(mean)) continue;
      throw BadInputError(fault(names.front(), fmt::format("one {} for all texts", where),
                                fmt::format("{} and {}", value(mean).dump(), value(one).dump()),
                                "scan all texts at the same lengths, with the same --top-n"));
    }
  }
  return mean;
}

}  // namespace

std::vector<Option> options_of(SeriesOptions& o) {
  return declared_options("SeriesOptions",
                          {{"steps", &o.steps}, {"metrics", &o.metrics}, {"level", &o.level}});
}

Results series(std::span<const std::vector<Results>> runs, std::span<const std::string> names,
               const SeriesOptions& options) {
  std::vector<const Results*> alone;
  for (const std::vector<Results>& of_step : runs) {
    if (of_step.size() == 1) alone.push_back(&of_step.front());
  }
  Results results = alone.size() == runs.size() ? join_text(alone, names, options)
                                                : join_texts(runs, names, options);
  judge_changes(results, options.level);
  return results;
}

}  // namespace headgauge
