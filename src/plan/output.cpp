#include "plan/output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "headgauge/metric_names.hpp"
#include "headgauge/parallel.hpp"
#include "heads/tool.hpp"
#include "plan/decisions.hpp"
#include "results/declared.hpp"
#include "results/mean_of.hpp"
#include "statistics/false_discoveries.hpp"
#include "statistics/student.hpp"

namespace headgauge {
namespace {

ByDocument difference(ByDocument of, const ByDocument& from) {
  for (std::size_t d = 0; d < of.size(); ++d) of[d] -= from[d];
  return of;
}

std::vector<double> counted(Index count) {
  std::vector<double> labels(static_cast<std::size_t>(count));
  std::iota(labels.begin(), labels.end(), 0.0);
  return labels;
}

class PlanWriter {
 public:
  explicit PlanWriter(const PlanRun& run)
      : run_(run),
        info_(run.texts.search.texts.info()),
        layers_(info_.attention_layers()),
        shared_(info_.heads / info_.kv_heads),
        documents_(std::ssize(run.texts.confirm.texts.info().documents)) {}

  PlanResults write() {
    describe();
    set_coords();
    write_budgets();
    write_methods();
    write_same_tokens();
    write_draws();
    write_tasks(run_.tasks, run_.confirmed_tasks, run_.original, run_.budgets, results_);
    add_notices();
    PlanResults made;
    for (std::size_t b = 0; b < run_.budgets.size(); ++b) made.plans.push_back(made_plan(b));
    made.results = std::move(results_);
    return made;
  }

 private:
  void describe() {
    results_.command = Command::plan;
    results_.tool = describe_tool(thread_count(run_.options.threads));
    results_.model = empty_plan(run_.texts.search.texts).model;
    run_.texts.confirm.texts.describe(results_);
    if (run_.texts.cases != nullptr) {
      Results of_cases;
      run_.texts.cases->describe(of_cases);
      results_.text.tasks = std::move(of_cases.text.tasks);
    }
    PlanOptions options = run_.options;
    write_settings(options_of(options), results_.settings);
    if (!run_.weights.empty()) results_.settings["weights"] = run_.weights;
    results_.settings["select_text"] = text_of(run_.texts.search.texts);
    results_.settings["check_text"] = text_of(run_.texts.check.texts);
    results_.layers_done = static_cast<int>(layers_.size());
    results_.timings = {.total = run_.seconds, .losses = run_.computed};
  }

  void set_coords() {
    results_.set_coord("layer", std::vector<double>(layers_.begin(), layers_.end()));
    results_.set_coord("head", counted(info_.heads));
    results_.set_coord("length", std::vector<double>{static_cast<double>(run_.space.context())});
    std::vector<std::string> budgets, methods;
    for (const BudgetResult& budget : run_.budgets) budgets.push_back(budget.label);
    for (int m = 0; m < kMethods; ++m) methods.emplace_back(method_text(static_cast<Method>(m)));
    results_.set_coord("budget", budgets);
    results_.set_coord("method", methods);
    results_.set_coord("document", counted(documents_));
    const Index draws = std::ssize(run_.budgets.front().draws);
    if (draws > 0) results_.set_coord("draw", counted(draws));
  }

  // Calls visit(query head, its key-value head).
  template <class Visit>
  void each_query_head(const Visit& visit) const {
    for (int head = 0; head < info_.heads; ++head) visit(head, head / shared_);
  }

  void write_budgets() {
    LabelledArray& kept = add_declared(results_, metric::kept_keys);
    LabelledArray& bytes = add_declared(results_, metric::kept_bytes_by_layer);
    LabelledArray& checked = add_declared(results_, metric::checked_change);
    const auto key_bytes = static_cast<double>(bytes_of_key(info_));
    for (Index b = 0; b < std::ssize(run_.budgets); ++b) {
      const BudgetResult& budget = run_.budgets[static_cast<std::size_t>(b)];
      checked({b}) = budget.check_change;
      for (Index place = 0; place < std::ssize(layers_); ++place) {
        const int layer = layers_[place];
        double in_layer = 0;
        each_query_head([&](int head, int kv_head) {
          const auto keys = static_cast<double>(
              cached_keys(budget.plan(layer, kv_head), layer, info_, run_.space.context()));
          kept({place, head, b}) = keys;
          if (head % shared_ == 0) in_layer += keys * key_bytes;
        });
        bytes({place, b}) = in_layer;
      }
      results_.settings["starts"][budget.label] = budget.start;
    }
  }

  void write_methods() {
    LabelledArray& share = add_declared(results_, metric::planned_cache_share);
    LabelledArray& change = add_declared(results_, metric::planned_change).with_standard_errors();
    change.with_rows();
    LabelledArray& low = add_declared(results_, metric::planned_change_low);
    LabelledArray& high = add_declared(results_, metric::planned_change_high);
    LabelledArray& by_document = add_declared(results_, metric::planned_change_by_document);
    for (Index b = 0; b < std::ssize(run_.budgets); ++b) {
      const auto& methods = run_.budgets[static_cast<std::size_t>(b)].methods;
      for (Index m = 0; m < kMethods; ++m) {
        const MethodResult& method = methods[static_cast<std::size_t>(m)];
        if (method.change.text.empty()) continue;
        share({m, b}) = method.share;
        const Estimate estimate = estimate_of(method.change.text);
        change.set({m, b}, estimate);
        put_interval(estimate, {m, b}, low, high);
        for (Index d = 0; d < documents_; ++d) {
          by_document({m, b, d}) = method.change.text[static_cast<std::size_t>(d)];
        }
      }
    }
    LabelledArray& ahead =
        write_differences(&Judged::text, metric::plan_difference, metric::plan_difference_p);
    LabelledArray& ahead_low = add_declared(results_, metric::plan_difference_low);
    LabelledArray& ahead_high = add_declared(results_, metric::plan_difference_high);
    for (Index b = 0; b < std::ssize(run_.budgets); ++b) {
      for (Index m = 1; m < kMethods; ++m) {
        if (!std::isnan(ahead({m, b}))) {
          put_interval(ahead.at({m, b}), {m, b}, ahead_low, ahead_high);
        }
      }
    }
    if (run_.original.replay.empty()) return;
    write_differences(&Judged::replay, metric::plan_replay_difference,
                      metric::plan_replay_difference_p);
  }

  // Writes what the plan loses less what the other methods of its budget lose, and the p-values of
  // paired t tests, which are adjusted over all methods and budgets.
  LabelledArray& write_differences(ByDocument Judged::*part, const char* name, const char* p_name) {
    LabelledArray& ahead = add_declared(results_, name).with_standard_errors();
    ahead.with_rows();
    LabelledArray& adjusted = add_declared(results_, p_name);
    std::vector<double> p;
    std::vector<std::vector<Index>> cells;
    for (Index b = 0; b < std::ssize(run_.budgets); ++b) {
      const auto& methods = run_.budgets[static_cast<std::size_t>(b)].methods;
      for (Index m = 1; m < kMethods; ++m) {
        const ByDocument& of_method = methods[static_cast<std::size_t>(m)].change.*part;
        if (of_method.empty()) continue;
        const Estimate gain = estimate_of(difference(methods.front().change.*part, of_method));
        ahead.set({m, b}, gain);
        p.push_back(t_test(mean_of(gain)).p);
        cells.push_back({m, b});
      }
    }
    p = adjusted_p_values(p);
    for (std::size_t i = 0; i < p.size(); ++i) {
      adjusted.values[static_cast<std::size_t>(adjusted.offset(cells[i]))] = p[i];
    }
    return ahead;
  }

  void write_same_tokens() {
    LabelledArray& same = add_declared(results_, metric::planned_same_token).with_standard_errors();
    same.with_rows();
    for (Index b = 0; b < std::ssize(run_.budgets); ++b) {
      const auto& methods = run_.budgets[static_cast<std::size_t>(b)].methods;
      for (Index m = 0; m < kMethods; ++m) {
        const ByDocument& shares = methods[static_cast<std::size_t>(m)].change.same_token;
        if (!shares.empty()) same.set({m, b}, estimate_of(shares));
      }
    }
  }

  static void put_interval(const Estimate& estimate, std::initializer_list<Index> cell,
                           LabelledArray& low, LabelledArray& high) {
    const Interval interval = t_interval(mean_of(estimate));
    low(cell) = interval.low;
    high(cell) = interval.high;
  }

  // Writes a permutation test: how often assigning the same entries to other heads loses at most as
  // much.
  void write_draws() {
    if (results_.coord("draw") == nullptr) return;
    LabelledArray& change = add_declared(results_, metric::random_change).with_standard_errors();
    LabelledArray& rank = add_declared(results_, metric::random_plans_p);
    for (Index b = 0; b < std::ssize(run_.budgets); ++b) {
      const BudgetResult& budget = run_.budgets[static_cast<std::size_t>(b)];
      for (Index draw = 0; draw < std::ssize(budget.draws); ++draw) {
        change.set({b, draw}, estimate_of(budget.draws[static_cast<std::size_t>(draw)].text));
      }
      rank({b}) = budget.dealt_p;
    }
  }

  void add_notices() {
    results_.notices = info_.notices;
    if (run_.kept_windows) {
      results_.notices.push_back(
          kept_windows_notice(info_, run_.options.layers, "PlanOptions::layers"));
    }
    if (run_.texts.confirm.replayed > 0 && run_.original.replay.empty()) {
      results_.notices.emplace_back(
          "the replay is not judged, because the model is not shown to predict a passage better "
          "when it comes again");
    }
    for (const BudgetResult& budget : run_.budgets) {
      if (budget.asked && budget.start != kGates) {
        results_.notices.push_back(fmt::format(
            "{}: the plan is {}, which costs less on the check than what the gates prefer",
            budget.label, budget.start));
      }
      const auto [unclear, tried, kept] = budget.exchanges;
      if (unclear == 0) continue;
      results_.notices.push_back(fmt::format(
          "{}: the gates of {} of {} {} stayed undecided; {} other choices were tried on the "
          "check, and {} kept",
          budget.label, unclear, std::ssize(run_.space.units()),
          run_.space.by_layer() ? "layers" : "key-value heads", tried, kept));
    }
    for (const std::string& task : run_.tasks.names()) {
      if (std::ranges::count(run_.tasks.done, task) > 0) continue;
      results_.notices.push_back(fmt::format(
          "the task {} is not judged, because the model itself is not shown to do it", task));
    }
    if (documents_ < 4) {
      results_.notices.push_back(
          fmt::format("--confirm gives {} {}; give more text", documents_,
                      documents_ == 1 ? "document, which can confirm nothing"
                                      : "documents, and intervals over so few are wide"));
    }
  }

  MadePlan made_plan(std::size_t b) const {
    const BudgetResult& budget = run_.budgets[b];
    MadePlan made{budget.label, empty_plan(run_.texts.search.texts)};
    made.plan.context = run_.space.context();
    made.plan.heads = budget.plan;
    const auto place = static_cast<Index>(b);
    made.plan.measured["measured"] = measured_json(
        budget.share, results_.require_metric(metric::planned_change).at({0, place}), documents_);
    if (budget.asked) made.plan.measured["measured"]["allowed_share"] = *budget.asked;
    add_retrieval_json(results_, place, made.plan.measured["measured"]);
    made.plan.measured["select"] = results_.settings["select_text"];
    made.plan.measured["check"] = results_.settings["check_text"];
    made.plan.measured["confirm"] = to_json(results_.text);
    return made;
  }

  const PlanRun& run_;
  const SourceInfo& info_;
  std::vector<int> layers_;  // along "layer"
  int shared_;
  Index documents_;
  Results results_;
};

}  // namespace

Estimate estimate_of(const ByDocument& values) {
  const TTest test = t_test(values);
  return {mean(values), test.standard_error, std::ssize(values), test.degrees_of_freedom};
}

nlohmann::ordered_json text_of(const HeadSource& source) {
  Results described;
  source.describe(described);
  return to_json(described.text);
}

nlohmann::ordered_json measured_json(double share, const Estimate& change, Index documents) {
  nlohmann::ordered_json measured;
  measured["cache_share"] = share;
  const auto put = [&](const char* key, double value) {
    if (!std::isnan(value)) measured[key] = value;
  };
  const Interval interval = t_interval(mean_of(change));
  put("loss_change", change.value);
  put("standard_error", change.standard_error);
  put("low", interval.low);
  put("high", interval.high);
  measured["documents"] = documents;
  return measured;
}

PlanResults write_plan_results(const PlanRun& run) {
  return PlanWriter(run).write();
}

}  // namespace headgauge
