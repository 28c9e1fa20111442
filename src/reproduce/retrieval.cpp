#include "reproduce/retrieval.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "findings/answers.hpp"
#include "headgauge/cells.hpp"
#include "headgauge/metric_names.hpp"
#include "headgauge/scan.hpp"
#include "results/declared.hpp"

namespace headgauge {
namespace {

constexpr int kCaseQueries = 32;  // measured queries per position bin
constexpr int kCaseSetSize = 20;  // set size at which separability is judged

struct OfCase {
  double task = kUndefined, tokens = kUndefined, loss = kUndefined, right = kUndefined;
  double entropy = kUndefined, separability = kUndefined, selected = kUndefined;
};

OfCase read_case(const Results& one, const Dimension& tasks, Index tokens) {
  const auto task = tasks.find(one.coord_names("task").front());
  const auto over_heads = [&, heads = measured_heads(one)](const char* metric) {
    return mean_over_heads(one, metric, heads, {}).value_or(kUndefined);
  };
  return {.task = static_cast<double>(task.value_or(-1)),
          .tokens = static_cast<double>(tokens),
          .loss = one.at(metric::answer_loss, {0}),
          .right = one.at(metric::answer_right, {0}),
          .entropy = over_heads(metric::entropy_normalized_beyond_sinks),
          .separability = over_heads(metric::separability_excess_beyond_sinks),
          .selected = over_heads(metric::effective_tokens_beyond_sinks)};
}

ScanOptions scan_of_case(const LimitsOptions& options, const SourceInfo& source) {
  ScanOptions scan;
  scan.lengths = {static_cast<int>(source.documents.front())};
  scan.measures = {"weights", "answers"};
  if (source.has_x) scan.measures.emplace_back("separability");
  scan.queries = kCaseQueries;
  scan.x = options.x;
  scan.threads = options.threads;
  scan.seed = options.seed;
  scan.examples = 0;
  scan.measure.top_n = {kCaseSetSize};
  return scan;
}

void write(const std::vector<OfCase>& cases, Results& results) {
  std::vector<double> numbers(cases.size());
  std::iota(numbers.begin(), numbers.end(), 0.0);
  results.set_coord("answered_case", numbers);
  const auto add = [&](const char* name, double OfCase::*member) {
    LabelledArray& metric = add_declared(results, name);
    std::ranges::transform(cases, metric.values.begin(), member);
  };
  add(metric::case_task, &OfCase::task);
  add(metric::case_tokens, &OfCase::tokens);
  add(metric::case_answer_loss, &OfCase::loss);
  add(metric::case_answer_right, &OfCase::right);
  add(metric::case_entropy, &OfCase::entropy);
  add(metric::case_separability, &OfCase::separability);
  add(metric::case_selected, &OfCase::selected);
}

}  // namespace

void measure_retrieval(const LimitsOptions& options, Results& results, Progress* progress,
                       const std::stop_token& stop) {
  if (!options.answers) return;
  ScanOptions asked;
  asked.measures = {"answers"};
  asked.threads = options.threads;
  const Results answered = scan(*options.answers(), asked, progress, stop);
  if (answered.partial || stop.stop_requested()) return;
  std::vector<OfCase> found;
  for (std::size_t c = 0; c < options.cases.count; ++c) {
    if (progress != nullptr) {
      progress->update(fmt::format("case {}", c), static_cast<double>(c),
                       static_cast<double>(options.cases.count));
    }
    const auto source = options.cases.open(c);
    const Results one = scan(*source, scan_of_case(options, source->info()), nullptr, stop);
    if (one.partial || stop.stop_requested()) return;
    found.push_back(
        read_case(one, answered.require_coord("task"), source->info().documents.front()));
  }
  copy_answers(answered, results);
  write(found, results);
}

}  // namespace headgauge
