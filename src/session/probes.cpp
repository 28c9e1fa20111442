#include "session/probes.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "session/input.hpp"

namespace headgauge {
namespace {

constexpr int kProbeCases = 16;  // by default

// Returns the longest context of the run, which lengths that are given and those that are not share
// with resolve_scan().
Index longest_context(const Input& input, const std::vector<Document>& documents, Index shortest) {
  const ModelSummary& summary = input.model.summary();
  Index longest = longest_auto(summary);
  if (!input.lengths.empty()) {
    longest = *std::ranges::max_element(input.lengths);
  } else if (!documents.empty()) {
    longest = 0;
    for (const Document& one : documents) longest = std::max<Index>(longest, std::ssize(one));
  } else if (shortest > 0) {
    longest = std::min(longest, shortest);
  }
  return summary.positions > 0 ? std::min<Index>(longest, summary.positions) : longest;
}

}  // namespace

void require_continues(const ModelSummary& model) {
  if (model.causal) return;
  throw UnsupportedError(fault("task", "a model that continues a prompt",
                               "a bidirectional one, " + model.family, "give a causal model"));
}

void make_probes(const Input& input, const TaskFiles& tasks, std::uint64_t seed, Index shortest,
                 const std::function<void(const std::string&, std::vector<TaskCase>)>& take) {
  if (tasks.probes.empty()) return;
  if (!input.model.has_name()) {
    throw UnsupportedError(fault("probe", "a checkpoint, which has a tokenizer",
                                 "a model that is loaded here",
                                 "write the cases with task(), and give them as tasks"));
  }
  const ModelSummary& summary = input.model.summary();
  require_continues(summary);
  const Tokenizer tokenizer = input.model.tokenizer();
  const std::vector<Document> documents =
      input.texts.empty() ? std::vector<Document>() : load_documents(input);
  TaskOptions options;
  options.length = static_cast<int>(longest_context(input, documents, shortest));
  options.cases = tasks.cases > 0 ? tasks.cases : kProbeCases;
  options.seed = seed;
  Texts texts;
  for (std::size_t i = 0; i < documents.size(); ++i) {
    const bool is_needed = std::ssize(texts) < options.cases;
    if (is_needed && std::ssize(documents[i]) >= options.length) texts.push_back(input.texts[i]);
  }
  std::set<std::string> made;
  for (const std::string& name : tasks.probes) {
    if (!made.insert(name).second) continue;
    options.task = find_task(name, "probe").name;
    options.text = texts;
    std::vector<TaskCase> cases;
    make_task_cases(
        options, tokenizer, summary.vocabulary,
        [&](TaskCase one) { cases.push_back(std::move(one)); }, input.stop);
    take(name, std::move(cases));
  }
}

}  // namespace headgauge
