#include "session/cases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include "headgauge/generators.hpp"
#include "headgauge/tasks.hpp"
#include "session/input.hpp"
#include "session/probes.hpp"

namespace headgauge {
namespace {

constexpr int kFileCases = 50;  // of a file, by default
constexpr int kOwnCases = 8;    // of each length
constexpr Index kShortestOwn = 512;

Index tokens_of(const TaskCase& one) {
  return std::ssize(one.prompt) + std::ssize(one.answer);
}

MarkedAnswer marked(const TaskCase& one) {
  return {.task = one.task, .distance = one.distance};
}

// Makes documents of the cases that fit the model.
class Collector {
 public:
  explicit Collector(const Model& model) : model_(model), summary_(model.summary()) {}

  // `name`: of a file or a probe. `left_out`: what read_task_cases() returned.
  void add(const std::string& name, std::vector<TaskCase> cases, Index left_out = 0) {
    if (left_out > 0) {
      found_.notices.push_back(fmt::format(
          "{}: {} of {} cases are left out, because the tokens of the prompt or of the control "
          "change with the answer behind it",
          name, left_out, left_out + std::ssize(cases)));
    }
    leave_out_long_ones(name, cases);
    count_untrained(name, cases);
    for (TaskCase& one : cases) {
      shortest_ = shortest_ == 0 ? tokens_of(one) : std::min(shortest_, tokens_of(one));
      const auto number = static_cast<int>(found_.documents.size());
      found_.documents.push_back(make_case(std::move(one.prompt), one.answer, marked(one), name));
      const Index length = std::ssize(one.control) + std::ssize(one.answer);
      if (one.control.empty() || (summary_.positions > 0 && length > summary_.positions)) continue;
      MarkedAnswer without_source = marked(one);
      without_source.control_of = number;
      controls_.push_back(
          make_case(std::move(one.control), one.answer, std::move(without_source), name));
    }
  }

  // Returns the tokens of the shortest case; 0: there is none.
  Index shortest() const { return shortest_; }

  Cases finish() {
    std::ranges::move(controls_, std::back_inserter(found_.documents));
    return std::move(found_);
  }

 private:
  void leave_out_long_ones(const std::string& name, std::vector<TaskCase>& cases) {
    const std::size_t read = cases.size();
    std::erase_if(cases, [&](const TaskCase& one) {
      return summary_.positions > 0 && tokens_of(one) > summary_.positions;
    });
    if (cases.empty()) {
      throw BadInputError(fault(name,
                                fmt::format("cases of at most {} tokens, the longest context of {}",
                                            summary_.positions, model_.name()),
                                "longer ones", "give shorter cases"));
    }
    if (cases.size() == read) return;
    found_.notices.push_back(
        fmt::format("{}: {} of {} cases are left out, because they are longer than the context "
                    "of the model, {} tokens",
                    name, read - cases.size(), read, summary_.positions));
  }

  void count_untrained(const std::string& name, const std::vector<TaskCase>& cases) {
    const auto untrained = std::ranges::count_if(cases, [&](const TaskCase& one) {
      return summary_.trained_length > 0 && tokens_of(one) > summary_.trained_length;
    });
    if (untrained == 0) return;
    found_.notices.push_back(
        fmt::format("{}: {} of {} cases are longer than the contexts that the model was trained "
                    "on, {} tokens",
                    name, untrained, cases.size(), summary_.trained_length));
  }

  const Model& model_;
  const ModelSummary& summary_;
  Cases found_;
  std::vector<Document> controls_;
  Index shortest_ = 0;
};

void read_files(const Input& input, const TaskFiles& tasks, Collector& collector) {
  if (tasks.files.empty()) return;
  const ModelSummary& summary = input.model.summary();
  std::optional<Tokenizer> tokenizer;
  if (input.model.has_tokenizer()) tokenizer.emplace(input.model.tokenizer());
  const TaskReading reading{
      .tokenizer = tokenizer ? &*tokenizer : nullptr,
      .vocabulary = summary.vocabulary > 0 ? summary.vocabulary : std::numeric_limits<int>::max(),
      .most = tasks.cases > 0 ? tasks.cases : kFileCases,
      .stop = input.stop};
  for (const std::string& file : tasks.files) {
    std::vector<TaskCase> cases;
    const Index left_out =
        read_task_cases(file, reading, [&](TaskCase one) { cases.push_back(std::move(one)); });
    collector.add(file, std::move(cases), left_out);
  }
}

}  // namespace

void Cases::require_loss(const SourceInfo& source) const {
  if (documents.empty() || source.has_loss) return;
  throw UnsupportedError(fault("tasks", "a model that predicts next tokens", source.name,
                               "leave the tasks out, or give a causal model with its output"));
}

Cases load_cases(const Input& input, const TaskFiles& tasks, std::uint64_t seed) {
  if (tasks.empty()) return {};
  if (input.model.has_own_queries()) {
    throw UnsupportedError(fault("tasks", "a model that can read them",
                                 "a dump, which holds its own queries", "give a checkpoint"));
  }
  Collector collector(input.model);
  read_files(input, tasks, collector);
  make_probes(input, tasks, seed, collector.shortest(),
              [&](const std::string& name, std::vector<TaskCase> cases) {
                collector.add(name, std::move(cases));
              });
  return collector.finish();
}

Cases own_cases(const Input& input, Index longest, std::uint64_t seed) {
  const ModelSummary& summary = input.model.summary();
  if (summary.positions > 0) longest = std::min(longest, summary.positions);
  if (input.model.has_own_queries() || !input.model.has_tokenizer() || longest < kShortestOwn) {
    return {};
  }
  Collector collector(input.model);
  const Tokenizer tokenizer = input.model.tokenizer();
  TaskOptions options{.task = "keys", .cases = kOwnCases, .seed = seed};
  std::vector<Index> lengths;
  for (const Index length : {longest / 4, longest / 2, longest}) {
    options.length = static_cast<int>(length);
    std::vector<TaskCase> cases;
    try {
      make_task_cases(
          options, tokenizer, summary.vocabulary,
          [&](TaskCase one) { cases.push_back(std::move(one)); }, input.stop);
    } catch (const UsageError&) {
      continue;  // a small vocabulary needs a longer prompt
    } catch (const BadInputError&) {
      return {};  // or has too few words
    }
    lengths.push_back(length);
    collector.add(fmt::format("keys of {} tokens", length), std::move(cases));
  }
  if (lengths.size() < 2) return {};
  Cases found = collector.finish();
  found.notices.push_back(
      fmt::format("no tasks were given: the claims on answers are judged on {} cases of `keys` at "
                  "each of {} tokens",
                  kOwnCases, fmt::join(lengths, ", ")));
  return found;
}

void append_cases(const Cases& cases, std::vector<Document>& documents) {
  const auto texts = static_cast<int>(documents.size());
  for (const Document& one : cases.documents) {
    MarkedAnswer& answer = documents.emplace_back(one).answer;
    if (answer.control_of >= 0) answer.control_of += texts;
  }
}

}  // namespace headgauge
