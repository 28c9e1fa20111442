#include "headgauge/diff.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "headgauge/catalogue.hpp"
#include "headgauge/cells.hpp"
#include "headgauge/text.hpp"
#include "results/declared.hpp"
#include "results/diff_notices.hpp"
#include "results/texts_apart.hpp"
#include "results/value_or.hpp"

namespace headgauge {
namespace {

constexpr const char* kRun = "run";

// Coordinates that describe the labels of another coordinate one by one and are no dims of a
// metric.
constexpr std::array<std::pair<const char*, const char*>, 3> kDescribing = {
    {{"kv_head", "head"}, {"layer_type", "layer"}, {"window", "layer"}}};

// Gives both arrays the same parts (standard errors, rows), so that they can be stacked.
void give_same_parts(LabelledArray& before, LabelledArray& after) {
  for (const auto& [name, numbers, number] : kEstimateParts) {
    if ((before.*numbers).empty() && (after.*numbers).empty()) continue;
    for (LabelledArray* of : {&before, &after})
      (of->*numbers).resize(of->values.size(), kUndefined);
  }
  if (before.rows.empty() || after.rows.empty()) {
    before.rows.clear();
    after.rows.clear();
  }
  before.none = after.none;
  before.identifier = after.identifier;
  before.change_of = after.change_of;
}

// Returns whether the model ran without the pattern or the normalizer that its heads were measured
// under: earlier versions kept its predictions. A loaded model, which has no checksum, may have run
// under the normalizer.
bool ran_without_change(const Results& results) {
  if (results.command != Command::scan && results.command != Command::converge) return false;
  return value_or<std::string>(results.settings, "pattern", "none") != "none" ||
         (value_or<std::string>(results.settings, "normalizer", "softmax") != "softmax" &&
          !results.model.weights_sha256.empty());
}

class Difference {
 public:
  Difference(const Results& before, const Results& after, const DiffOptions& options)
      : before_(before), after_(after), options_(options), left_out_(before, after, options) {}

  Results run() {
    require_one_run(before_, options_.old_file);
    require_one_run(after_, options_.new_file);
    choose_metrics();
    if (std::ranges::none_of(chosen_, [&](const std::string& name) { return is_listed(name); })) {
      left_out_.fail_without_overlap();
    }
    describe();
    write_coords();
    for (const std::string& name : chosen_) write_metric(name);
    write_flags();
    results_.notices = left_out_.sentences(results_);
    return std::move(results_);
  }

 private:
  const std::vector<SharedPlace>& shared(const std::string& name) {
    const auto [it, made] = shared_.try_emplace(name);
    const Dimension* before = before_.coord(name);
    const Dimension* after = after_.coord(name);
    if (made && before != nullptr && after != nullptr) it->second = shared_places(*before, *after);
    return it->second;
  }

  bool asked_for(const std::string& name) const {
    return std::ranges::find(options_.metrics, name) != options_.metrics.end();
  }

  // Returns whether changes of the metric are listed: curves over positions only on request.
  bool is_listed(const std::string& name) const {
    return !after_.metric(name)->has_dim("position") || asked_for(name);
  }

  // Returns whether a metric belongs to the longest length only. Metrics of random tokens in
  // `reproduce tokens` have no length.
  static bool of_longest(const std::string& name, const LabelledArray& metric) {
    const Experiment* experiment = find_experiment(name);
    return !metric.has_dim("length") && !metric.has_dim("position") &&
           !(experiment != nullptr && experiment->random_tokens);
  }

  void choose_metrics() {
    for (const std::string& name : options_.metrics) {
      if (before_.metric(name) == nullptr || after_.metric(name) == nullptr) {
        const std::vector<std::string> shared = shared_names(before_, after_);
        throw UsageError(fault(
            "DiffOptions::metrics", "metrics of both files",
            in_quotes(name) + metric_hint(name, shared),
            fmt::format(
                "they share {}",
                shared.empty() ? "none" : legible(fmt::format("{}", fmt::join(shared, ", "))))));
      }
      if (!options_.heads.empty() && !after_.metric(name)->of_heads()) {
        throw UsageError(fault("DiffOptions::heads", "metrics of single heads", "\"" + name + "\"",
                               "leave out one of the two"));
      }
    }
    for (const auto& [name, metric] : after_.metrics) {
      if (!options_.metrics.empty() && !asked_for(name)) continue;
      if (!options_.heads.empty() && !metric.of_heads()) continue;
      list_of(name, metric).push_back(name);
    }
    if (!options_.metrics.empty() || !options_.heads.empty()) return;
    for (const auto& [name, metric] : before_.metrics) {
      if (after_.metric(name) == nullptr) left_out_.old_only.push_back(name);
    }
  }

  // Returns the list that a metric of the new run belongs to: those compared, or a reason why not.
  std::vector<std::string>& list_of(const std::string& name, const LabelledArray& metric) {
    const LabelledArray* old = before_.metric(name);
    const MetricInfo* info = find_metric_info(name);
    if (old == nullptr) return left_out_.new_only;
    if (old->dim_names() != metric.dim_names() || old->unit != metric.unit) {
      return left_out_.different;
    }
    const bool of_model = info != nullptr && (info->group == "model" || info->group == "answers");
    if (of_model && (ran_without_change(before_) || ran_without_change(after_))) {
      return left_out_.without_change;
    }
    if (follows(metric)) return left_out_.following;
    if (metric.unit == "seconds" && !asked_for(name)) return left_out_.times;
    if (longest_length(before_) != longest_length(after_) && of_longest(name, metric)) {
      return left_out_.of_longest;
    }
    const bool disjoint = std::ranges::any_of(metric.dim_names(),
                                              [&](const auto& dim) { return shared(dim).empty(); });
    return disjoint ? left_out_.disjoint : chosen_;
  }

  // Returns whether the metric is the change of another metric that is compared too, and so
  // redundant.
  bool follows(const LabelledArray& metric) const {
    const std::string& of = metric.change_of;
    return !of.empty() && before_.metric(of) != nullptr && after_.metric(of) != nullptr &&
           (options_.metrics.empty() || asked_for(of));
  }

  void describe() {
    results_.command = Command::diff;
    results_.tool = after_.tool;
    results_.model = after_.model;
    results_.text = after_.text;
    results_.settings["old"] =
        described_run(before_, options_.old_file, different_settings(before_, after_));
    results_.settings["new"] =
        described_run(after_, options_.new_file, different_settings(after_, before_));
    results_.settings["metrics"] = options_.metrics;
    results_.settings["heads"] = options_.heads.empty() ? "all" : options_.heads;
    results_.partial = before_.partial || after_.partial;
    results_.layers_done = static_cast<int>(shared("layer").size());
  }

  void write_coords() {
    std::set<std::string> used;
    for (const std::string& name : chosen_) {
      for (const Dimension& dim : after_.metric(name)->dims()) used.insert(dim.name());
    }
    for (const Dimension& coord : after_.coords) {
      std::string of = coord.name();
      for (const auto& [describing, described] : kDescribing) {
        if (coord.name() == describing) of = described;
      }
      if (!used.contains(of)) continue;
      std::vector<Index> places;
      for (const SharedPlace& place : shared(of)) places.push_back(place.second);
      const bool describes = of != coord.name();
      if (!describes) left_out_.compare_labels(of, shared(of));
      // A describing list must be as long as the coordinate it describes.
      if (describes && coord.size() != after_.coord_size(of)) continue;
      results_.set_coord(coord.name(), coord.take(places).labels());
    }
    results_.set_coord(kRun, std::vector<std::string>{"old", "new"});
    if (!options_.heads.empty()) selection_ = select_heads(results_, options_.heads);
  }

  void write_metric(const std::string& name) {
    auto [before, after] = align(*before_.metric(name), *after_.metric(name));
    LabelledArray change = difference(before, after);
    give_same_parts(before, after);
    if (after.of_heads()) {
      leave_selected(before);
      leave_selected(after);
      leave_selected(change);
    }
    const LabelledArray* const runs[] = {&before, &after};
    results_.add_metric(name, stack(runs, *results_.coord(kRun)));
    if (after.identifier || !is_listed(name)) return;
    change.change_of = name;
    // If a share is undefined, the metric that it is a share of is counted instead.
    const MetricInfo* info = find_metric_info(name);
    const bool says_why = info == nullptr || info->fraction_of.empty();
    for (std::size_t i = 0; i < after.values.size(); ++i) {
      const double a = before.values[i], b = after.values[i];
      const bool none_before = after.is_none(a), none_after = after.is_none(b);
      if (std::isnan(a) != std::isnan(b) && says_why) {
        ++(std::isnan(a) ? left_out_.undefined_old : left_out_.undefined_new)[name];
      } else if (none_before != none_after) {
        ++(none_before ? left_out_.found : left_out_.lost)[name];
      }
    }
    results_.add_metric(name + "_change", std::move(change));
  }

  // Keeps only the selected heads.
  void leave_selected(LabelledArray& metric) const {
    if (options_.heads.empty()) return;
    metric.each([&](std::span<const Index> cell, std::size_t) {
      if (selected(cell)) return;
      metric.set(cell, {});
    });
  }

  bool selected(std::span<const Index> cell) const {
    if (options_.heads.empty()) return true;
    return selection_.contains(head_label(results_, "layer", cell[0]),
                               head_label(results_, "head", cell[1]));
  }

  // Flags belong to the longest length; only those of heads in both runs are kept.
  void write_flags() {
    if (longest_length(before_) != longest_length(after_)) {
      left_out_.flags = !before_.flags.empty() || !after_.flags.empty();
      return;
    }
    const auto add = [&](const Results& from, const Results& other, const char* change) {
      for (const Flag& flag : from.flags) {
        const auto same = [&](const Flag& f) {
          return f.name == flag.name && f.layer == flag.layer && f.head == flag.head;
        };
        if (std::ranges::any_of(other.flags, same) || !judged(flag)) continue;
        results_.flags.push_back(flag);
        results_.flags.back().change = change;
      }
    };
    add(after_, before_, "gained");
    add(before_, after_, "lost");
    std::ranges::stable_sort(results_.flags, {},
                             [](const Flag& flag) { return std::pair(flag.layer, flag.head); });
  }

  // Returns whether both runs measured the metric that the flag is based on, for its head.
  bool judged(const Flag& flag) const {
    const auto layer = find_label(results_, "layer", flag.layer);
    const auto head = find_label(results_, "head", flag.head);
    if (!layer || !head || !selected(std::array{*layer, *head})) return false;
    const MetricInfo* info = metric_of_flag(flag.name);
    const LabelledArray* metric = info == nullptr ? nullptr : results_.metric(info->name);
    if (metric == nullptr || !metric->of_heads()) return false;
    const LabelledArray of_head = metric->isel("layer", *layer).isel("head", *head);
    const auto defined = [&](const char* run) {
      return std::ranges::any_of(of_head.sel(kRun, run).values,
                                 [](double value) { return !std::isnan(value); });
    };
    return defined("old") && defined("new");
  }

  const Results& before_;
  const Results& after_;
  const DiffOptions& options_;
  LeftOut left_out_;
  Results results_;
  std::vector<std::string> chosen_;
  std::map<std::string, std::vector<SharedPlace>> shared_;
  HeadSelection selection_;
};

}  // namespace

Results diff(const Results& before, const Results& after, const DiffOptions& options) {
  return Difference(before, after, options).run();
}

Results diff(std::span<const Results> before, std::span<const Results> after,
             const DiffOptions& options) {
  if (before.size() == 1 && after.size() == 1) return diff(before[0], after[0], options);
  std::vector<Results> pairs;
  for (const auto& runs :
       runs_by_text(std::array{before, after}, std::array{options.old_file, options.new_file})) {
    pairs.push_back(diff(runs[0], runs[1], options));
  }
  return mean_over_texts(pairs, {"/old", "/new"});
}

}  // namespace headgauge
