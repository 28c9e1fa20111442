#include "headgauge/session.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "experiments/resolved_comparison.hpp"
#include "session/caches.hpp"
#include "session/finish.hpp"
#include "session/planned.hpp"

namespace headgauge {
namespace {

bool has_own(const ScanOptions& options) {
  return !options.own_measures.empty() || options.own_normalizer != nullptr ||
         options.own_pattern != nullptr;
}
bool has_own(const CompareOptions& options) {
  return has_own(options.scan) || !options.own_normalizers.empty() || !options.own_patterns.empty();
}

void require_something_to_compare(const CompareRequest& request) {
  const CompareOptions& options = request.options;
  const bool patterns = !options.patterns.empty() || !options.own_patterns.empty();
  const bool normalizers = !options.normalizers.empty() || !options.own_normalizers.empty();
  if (!normalizers && !patterns && request.windows.empty() && request.plans.empty()) {
    throw UsageError(fault("compare", "normalizers, patterns or plans to compare",
                           "no CompareOptions::normalizers, no CompareOptions::patterns and no "
                           "CompareRequest::plans",
                           "add CompareOptions::normalizers = ssmax,sparsemax or "
                           "CompareOptions::patterns = window:size=128"));
  }
}

// Opens the texts of `option`, which must not share tokens with those that are measured.
std::shared_ptr<HeadSource> open_other(const Input& input, const std::string& option,
                                       const Texts& texts, const SourceInfo& measured) {
  if (measured.family == "dump") {
    throw UnsupportedError(fault(option, "a model that can read another text",
                                 "a dump, which holds its own queries", "give a checkpoint"));
  }
  const Input other = input.with(texts);
  if (share_tokens(load_documents(other), load_documents(input))) {
    throw UsageError(fault(option, "another text than the one that is measured", "the same text",
                           "what is chosen on a text must not be judged on it"));
  }
  return open_source(other);
}

}  // namespace

Session::Session(Model model, Texts texts, Run run)
    : model_(std::move(model)), texts_(std::move(texts)), run_(std::move(run)) {
  if (!run_.shards.empty()) merged_ = Journal::merge(run_.shards);
}

Running Session::begin() {
  written_.clear();
  remarks_.clear();
  return {run_, merged_};
}

Input Session::input(const std::string& name) const {
  return {.model = model_,
          .texts = texts_,
          .stop = run_.stop,
          .in_part = merged_ != nullptr || run_.shard.has_value(),
          .asked_by = name};
}

Results Session::scan(ScanRequest request) {
  Running running = begin();
  Input input = this->input("scan");
  input.take(request.options);
  input.read_again = !request.tasks.probes.empty();
  input.cases = load_cases(input, request.tasks, request.options.seed);
  const auto source = open_source(input);
  ScanRequest recorded = request;
  recorded.options = resolved(request.options, source->info());
  request.options.journal = running.open_journal(
      {"scan", model_, texts_, options_of(recorded), options_of(request), has_own(request.options)},
      described(*source));
  running.start(source.get());
  Results results = running.measure([&] {
    PlanInput plan{request.plan};
    plan.apply(*source, request.options);
    Results measured = headgauge::scan(*source, request.options, running.observer(), run_.stop);
    const auto pass = pass_over_scan(input, request, source->info());
    Results caches;
    if (pass && *pass * kTrialPasses < 1 && !measured.partial) {
      caches = try_caches(*source, request.options, running.observer(), run_.stop);
      measured.timings.total = *measured.timings.total + caches.timings.total.value_or(0);
    }
    if (!running.has_results()) return measured;
    described(*source);
    plan.describe(measured);
    measured.partial = measured.partial || caches.partial;
    if (caches.coord("pattern") != nullptr) add_caches(caches, measured);
    complete(measured, {input, options_of(request), "ScanRequest::", [&](const Results& scanned) {
                          std::vector<SummaryLine> lines = summarize(scanned);
                          if (pass) say_what_is_open(*pass, scanned, lines);
                          return lines;
                        }});
    return measured;
  });
  running.save(results);
  return results;
}

Results Session::compare(CompareRequest request) {
  require_something_to_compare(request);
  CompareRequest asked = request;
  Running running = begin();
  Input input = this->input("compare");
  input.take(request.options.scan);
  input.read_again = !request.confirm.empty() || !request.tasks.probes.empty() ||
                     !request.windows.empty() || !request.options.patterns.empty();
  std::vector<std::string> notices = add_windows(input, request);
  input.cases = cases_to_compare(input, request);
  const auto source = open_to_compare(input, request, asked.tasks, notices);
  if (!request.confirm.empty() && !source->info().has_text()) {
    throw UsageError(fault("CompareRequest::confirm", "a text to measure on, too", kNoTexts,
                           "add text_files(FILE)"));
  }
  request.options.scan.examples = kept_tokens(request.options, source->info());
  ScanOptions& scan = request.options.scan;
  if (scan.measures.empty() && scan.own_measures.empty() && source->info().has_loss) {
    scan.measures = {"model", "answers"};
  }
  CompareRequest recorded = request;
  ScanOptions& filled = recorded.options.scan = resolved(scan, source->info());
  const bool asks = !scan.layers.empty() || !scan.heads.empty() || !request.plans.empty();
  if (!asks) {
    filled.layers = scan.layers = source->info().layers_without_window(filled.lengths.back());
  }
  request.options.scan.journal =
      running.open_journal({"compare", model_, texts_, options_of(recorded), options_of(asked),
                            has_own(request.options)},
                           described(*source));
  running.start(source.get());
  std::vector<AttentionPlan> plans;
  const auto compared = [&] {
    auto interventions = make_interventions(request.options, source->info());
    for (const std::string& file : request.plans) {
      const AttentionPlan& plan = plans.emplace_back(read_plan(file));
      interventions.push_back(make_intervention(plan, request.options, *source, file));
    }
    std::shared_ptr<HeadSource> unseen;
    if (!request.confirm.empty()) {
      const char* const option = "CompareRequest::confirm";
      unseen = open_other(input, option, request.confirm, source->info());
      if (!source->info().has_loss) {
        throw UnsupportedError(fault(option, "a model with a loss", source->info().family,
                                     "without a loss nothing is recommended"));
      }
    }
    RunObserver* const observer = running.observer();
    Results results =
        headgauge::compare(*source, request.options, interventions, observer, run_.stop);
    if (unseen != nullptr) {
      confirm_gains(*unseen, request.options, interventions, results, observer, run_.stop);
    }
    return results;
  };
  Results results = running.measure([&] {
    Results measured = compared();
    if (!running.has_results()) return measured;
    described(*source);
    std::ranges::copy(notices, std::back_inserter(measured.notices));
    if (!asks && !scan.layers.empty()) {
      measured.notices.push_back(
          kept_windows_notice(source->info(), scan.layers, "ScanOptions::layers"));
    }
    for (std::size_t i = 0; i < plans.size(); ++i) {
      measured.settings["plan_sha256"].push_back(plans[i].sha256);
      const std::string notice = context_notice(plans[i], request.plans[i], measured);
      if (!notice.empty()) measured.notices.push_back(notice);
    }
    complete(measured, {input, options_of(request), "CompareRequest::"});
    return measured;
  });
  running.save(results);
  return results;
}

Results Session::converge(ConvergeRequest request) {
  Running running = begin();
  Input input = this->input("converge");
  input.take(request.options.scan);
  const auto source = open_source(input);
  ConvergeRequest recorded = request;
  recorded.options.scan = resolved(request.options.scan, source->info());
  ScanOptions& scan = request.options.scan;
  scan.journal = running.open_journal({"converge", model_, texts_, options_of(recorded),
                                       options_of(request), has_own(request.options.scan)},
                                      described(*source));
  running.start(source.get());
  PlanInput plan{request.plan};
  RunObserver* const observer = running.observer();
  const auto converged = [&] {
    if (plan.file.empty()) {
      return headgauge::converge(*source, request.options, observer, run_.stop);
    }
    plan.apply(*source, scan);
    if (!scan.heads.empty() || !scan.layers.empty()) {
      throw UsageError(fault("ConvergeRequest::plan", "the heads that the plan leaves as they are",
                             "ScanOptions::layers or ScanOptions::heads too",
                             "leave one of the two out"));
    }
    ConvergeOptions unchanged = request.options;
    unchanged.scan.heads = plan.unchanged_heads(*source);
    Results results = headgauge::converge(*source, unchanged, observer, run_.stop);
    results.notices.emplace_back(
        "the model runs under the plan; only heads that it leaves as they are were measured");
    return results;
  };
  Results results = running.measure([&] {
    Results measured = converged();
    if (!running.has_results()) return measured;
    described(*source);
    plan.describe(measured);
    complete(measured, {input, options_of(request), "ConvergeRequest::"});
    return measured;
  });
  running.save(results);
  return results;
}

}  // namespace headgauge
