// Session::validate(): which metrics predict the loss of text and of answers.
#include "headgauge/validate.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <numeric>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "findings/answers.hpp"
#include "headgauge/advice.hpp"
#include "headgauge/cells.hpp"
#include "headgauge/metric_names.hpp"
#include "session/finish.hpp"
#include "session/input.hpp"

namespace headgauge {
namespace {

struct CaseGroup {
  std::string name;
  std::vector<Document> cases = {};  // without controls
};

// Runs the cases and their controls through the unchanged model; returns the metrics of answers and
// the coordinates outcome and length. `lengths`: those of a scan. Throws UnsupportedError for a
// model that predicts no next token.
Results answer_cases(const Input& input, const Cases& cases, const ScanOptions& options,
                     Progress* progress, const std::stop_token& stop) {
  const auto source = open_documents(input, cases.documents);
  cases.require_loss(source->info());
  ScanOptions asked;
  asked.lengths = options.lengths;
  asked.measures = {"answers"};
  asked.threads = options.threads;
  return scan(*source, asked, progress, stop);
}

// Returns a group for each task that the model is shown to do. Throws BadInputError if it does
// none.
std::vector<CaseGroup> done_tasks(const Cases& cases, const Results& answered) {
  std::vector<CaseGroup> groups;
  const Dimension& tasks = answered.require_coord(kOutcome);
  for (Index t = 0; t < tasks.size(); ++t) {
    const auto done = find_cell(answered, metric::does_task, {{kOutcome, t}});
    if (!done || done->value != 1) continue;
    CaseGroup& group = groups.emplace_back(CaseGroup{tasks.label(t)});
    for (const Document& one : cases.documents) {
      if (one.answer.control_of < 0 && one.answer.task == group.name) group.cases.push_back(one);
    }
  }
  if (!groups.empty()) return groups;
  throw BadInputError(
      fault("tasks", "a task that the model is shown to do",
            fmt::format("only {}, whose answers it does not find", fmt::join(tasks.names(), ", ")),
            "see headgauge scan with these tasks, and give easier ones, or more cases"));
}

// Divides the cases of a group into the odd and the even ones.
std::vector<CaseGroup> halves_of(const CaseGroup& group) {
  std::vector<CaseGroup> halves = {{group.name + ", odd cases"}, {group.name + ", even cases"}};
  for (std::size_t c = 0; c < group.cases.size(); ++c) {
    halves[c % 2].cases.push_back(group.cases[c]);
  }
  return halves;
}

// Throws BadInputError if a group has fewer than 2 cases, which give no error of a mean.
void require_several(const std::vector<CaseGroup>& groups) {
  for (const CaseGroup& group : groups) {
    if (group.cases.size() >= 2) continue;
    throw BadInputError(fault("tasks", "at least 2 cases of a task, and 4 where they are halved",
                              fmt::format("{} of {}", group.cases.size(), group.name),
                              "give more cases"));
  }
}

// Returns file names; names that occur twice include their folders.
std::vector<std::string> short_names(const Texts& texts) {
  std::vector<std::string> names;
  for (const Text& text : texts) names.push_back(std::filesystem::path(text.name).filename());
  std::vector<std::string> sorted = names;
  std::ranges::sort(sorted);
  return std::ranges::adjacent_find(sorted) == sorted.end() ? names : names_of(texts);
}

// Fits the default patterns to short texts, of which they would keep nearly all keys.
void fit_default(std::vector<std::string>& patterns, Index shortest,
                 std::vector<std::string>& notices) {
  constexpr Index kUsual = 64;
  const Index keys = suggested_keys(shortest, kUsual);
  if (keys == kUsual || patterns != ValidateOptions().patterns) return;
  patterns = {fmt::format("sinks:sinks=4,window={}", std::max<Index>(keys - 4, 1)),
              fmt::format("topk:k={}", std::min<Index>(keys, 16))};
  notices.push_back(fmt::format("the default patterns fit contexts of {} tokens: {}", shortest,
                                fmt::join(patterns, ", ")));
}

// Adds what the unchanged model answers.
void add_answers(const Results& answered, const std::vector<CaseGroup>& groups, Results& results) {
  copy_answers(answered, results);
  results.text.tasks = answered.text.tasks;
  if (results.text.names.empty()) results.text = answered.text;
  const bool halved = groups.front().cases.front().answer.task != groups.front().name;
  if (!halved) return;
  results.notices.push_back(
      "there is one task that the model does: heads are found on half of its cases and checked on "
      "the other half, so nothing is shown about another task");
}

}  // namespace

Results Session::validate(ValidateRequest request) {
  Running running = begin();
  Input input = this->input("validate");
  input.take(request.options.scan);
  input.read_again = true;
  if (texts_.empty() && request.tasks.empty()) {
    throw UsageError(fault("validate", "texts", kNoTexts,
                           "name at least two texts, such as text_files() a.txt b.txt, or tasks"));
  }
  require_checkpoint(input, "validate");
  const Cases cases = load_cases(input, request.tasks, request.options.scan.seed);
  input.cases.notices = cases.notices;
  // The texts are measured one after another on the same model.
  input.model.hold();
  std::vector<Document> documents = load_documents(input);
  require_apart(documents, option_of(texts_));
  std::vector<Index> tokens;
  for (const Document& document : documents) tokens.push_back(std::ssize(document.tokens));
  request.options.costs = document_costs(tokens);
  append_cases(cases, documents);
  const Index positions = input.model.summary().positions;
  Index shortest = positions > 0 ? positions : std::numeric_limits<Index>::max();
  for (const Document& one : documents) shortest = std::min<Index>(shortest, std::ssize(one));
  ValidateRequest given = request;
  fit_default(request.options.patterns, shortest, input.cases.notices);
  Results described;
  input.model.describe(described);
  describe_documents(documents, {}, described);
  ValidateRequest recorded = request;
  sort_lists(recorded.options.scan);
  request.options.scan.journal = running.open_journal(
      {"validate", model_, texts_, options_of(recorded), options_of(given)}, described);
  running.start(nullptr);

  ValidateInput parts{.texts = short_names(texts_), .open = [&](std::size_t text) {
                        return open_source(input.with({texts_[text]}));
                      }};
  const auto validated = [&] {
    ScanOptions& scan = request.options.scan;
    Results answered;
    std::vector<CaseGroup> groups;
    if (!cases.documents.empty()) {
      ScanOptions asked = scan;
      if (!texts_.empty()) asked.lengths.clear();  // those of the texts
      answered = answer_cases(input, cases, asked, running.observer(), run_.stop);
      if (answered.partial) return answered;
      groups = done_tasks(cases, answered);
      // What is found on some cases is checked on others.
      if (groups.size() == 1) groups = halves_of(groups.front());
      require_several(groups);
      // All groups have the lengths that their shortest case has.
      if (texts_.empty() && scan.lengths.empty()) {
        for (const double length : answered.coord_numbers("length")) {
          scan.lengths.push_back(static_cast<int>(length));
        }
      }
    }
    for (const CaseGroup& group : groups) {
      std::vector<Index> of_cases;
      for (const Document& one : group.cases) of_cases.push_back(std::ssize(one.tokens));
      const std::vector<double> costs = document_costs(of_cases);
      request.options.costs.push_back(std::accumulate(costs.begin(), costs.end(), 0.0));
      parts.groups.push_back(group.name);
    }
    parts.open_group = [&](std::size_t group) -> std::shared_ptr<HeadSource> {
      return open_documents(input, groups[group].cases);
    };
    Results measured = headgauge::validate(parts, request.options, running.observer(), run_.stop);
    if (running.has_results() && !groups.empty()) add_answers(answered, groups, measured);
    return measured;
  };
  Results results = running.measure([&] {
    Results measured = validated();
    if (!running.has_results()) return measured;
    complete(measured, {input, options_of(request), "ValidateRequest::"});
    return measured;
  });
  running.save(results);
  return results;
}

}  // namespace headgauge
