#include "plan/output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "findings/answers.hpp"
#include "headgauge/cells.hpp"
#include "headgauge/metric_names.hpp"
#include "headgauge/parallel.hpp"
#include "heads/tool.hpp"
#include "plan/confirmation.hpp"
#include "results/declared.hpp"
#include "results/mean_of.hpp"
#include "results/outcomes.hpp"
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

// Returns the share of the answers that the model gets right and that stay right. `changes` has -1
// for an answer that is lost. A mean over draws has no interval. Undefined if none is right.
Estimate share_kept(const ByDocument& original, const ByDocument& changes, bool is_mean) {
  Index were_right = 0;
  double still_right = 0;
  for (std::size_t c = 0; c < original.size(); ++c) {
    if (original[c] != 1) continue;
    ++were_right;
    still_right += 1 + changes[c];
  }
  if (were_right == 0) return {};
  if (!is_mean) return share_of(std::llround(still_right), were_right);
  return {.value = still_right / static_cast<double>(were_right), .rows = were_right};
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
    add_outcomes({kText}, results_);
    if (!run_.original.replay.empty()) add_outcomes({kReplay}, results_);
    first_task_ = copy_answers(run_.tasks.results, results_);
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

  // Returns what a method changes of an outcome; nothing of a task that the model does not do.
  const ByDocument& changes_of(const MethodResult& method, Index outcome) const {
    static const ByDocument nothing;
    if (outcome == 0) return method.change.text;
    if (outcome < first_task_) return method.change.replay;
    const auto task = place_of_task(outcome);
    return task && !method.change.answers.empty() ? method.change.answers[*task] : nothing;
  }

  // Returns the place of an outcome among the tasks that judge the plans.
  std::optional<std::size_t> place_of_task(Index outcome) const {
    const auto& judged = run_.confirmed_tasks;
    const auto found = std::ranges::find(judged, run_.tasks.names()[outcome - first_task_]);
    if (found == judged.end()) return std::nullopt;
    return static_cast<std::size_t>(found - judged.begin());
  }

  void write_methods() {
    LabelledArray& share = add_declared(results_, metric::planned_cache_share);
    LabelledArray& change = add_declared(results_, metric::planned_change).with_standard_errors();
    change.with_rows();
    LabelledArray& by_document = add_declared(results_, metric::planned_change_by_document);
    LabelledArray* const kept =
        run_.tasks.names().empty()
            ? nullptr
            : &add_declared(results_, metric::planned_answers_kept).with_rows();
    for (Index b = 0; b < std::ssize(run_.budgets); ++b) {
      const auto& methods = run_.budgets[static_cast<std::size_t>(b)].methods;
      for (Index m = 0; m < kMethods; ++m) {
        const MethodResult& method = methods[static_cast<std::size_t>(m)];
        if (method.change.text.empty()) continue;
        share({m, b}) = method.share;
        for (Index d = 0; d < documents_; ++d) {
          by_document({m, b, d}) = method.change.text[static_cast<std::size_t>(d)];
        }
        for (Index o = 0; o < results_.coord_size(kOutcome); ++o) {
          const ByDocument& changes = changes_of(method, o);
          if (changes.empty()) continue;
          change.set({m, b, o}, with_t_interval(estimate_of(changes)));
          if (o < first_task_) continue;
          const std::size_t task = *place_of_task(o);
          kept->set({m, b, o}, share_kept(run_.original.right[task], method.change.right[task],
                                          static_cast<Method>(m) == Method::random));
        }
      }
    }
    write_differences();
  }

  // Writes what the plan loses less what the other methods of its budget lose, and the p of paired
  // t tests, which are adjusted over all methods and budgets of an outcome.
  void write_differences() {
    LabelledArray& ahead = add_declared(results_, metric::plan_difference).with_standard_errors();
    ahead.with_rows();
    for (Index o = 0; o < results_.coord_size(kOutcome); ++o) {
      std::vector<double> p;
      std::vector<Index> cells;
      for (Index b = 0; b < std::ssize(run_.budgets); ++b) {
        const auto& methods = run_.budgets[static_cast<std::size_t>(b)].methods;
        for (Index m = 1; m < kMethods; ++m) {
          const ByDocument& of_method = changes_of(methods[static_cast<std::size_t>(m)], o);
          if (of_method.empty()) continue;
          const Estimate gain =
              with_t_interval(estimate_of(difference(changes_of(methods.front(), o), of_method)));
          ahead.set({m, b, o}, gain);
          p.push_back(t_test(mean_of(gain)).p);
          cells.push_back(ahead.offset(std::array{m, b, o}));
        }
      }
      p = adjusted_p_values(p);
      for (std::size_t i = 0; i < p.size(); ++i) ahead.p[cells[i]] = p[i];
    }
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
        budget.share, results_.require_metric(metric::planned_change).at({0, place, 0}),
        documents_);
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
  Index first_task_ = 0;  // among the outcomes
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
  put("loss_change", change.value);
  put("standard_error", change.standard_error);
  put("low", change.low);
  put("high", change.high);
  measured["documents"] = documents;
  return measured;
}

PlanResults write_plan_results(const PlanRun& run) {
  return PlanWriter(run).write();
}

}  // namespace headgauge
