// Draws the cases of a task, and its options.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>
#include <utility>

#include "headgauge/text.hpp"
#include "tasks/case_texts.hpp"
#include "tasks/generators.hpp"

namespace headgauge {
namespace {

constexpr int kMostTries = 1000;  // of a case whose tokens are too many, or have the answer twice

struct Kind {
  TaskInfo info;
  TaskMaker make;
  std::uint32_t stream;  // of its draws: the cases of a seed stay the same in later versions
  bool of_ids = false;   // random tokens, which another tokenization of their text may merge
};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = {
      {.info = {"copy", "say on a passage of random tokens from its beginning",
                "induction heads (Olsson et al. 2022)"},
       .make = make_copy_task,
       .stream = 0},
      {.info = {"passkey", "find the number of one sentence in a text",
                "pass key retrieval (Mohtashami and Jaggi 2023)"},
       .make = make_passkey_task,
       .stream = 1},
      {.info = {"keys", "find the value of one key among several",
                "RULER, niah_multikey (Hsieh et al. 2024)"},
       .make = make_keys_task,
       .stream = 2},
      {.info = {"replay", "say on the beginning of a text at its end",
                "induction heads (Olsson et al. 2022), on natural text"},
       .make = make_replay_task,
       .stream = 5},
      {.info = {"repeats", "say random tokens a second time",
                "repeated random tokens (Olsson et al. 2022)"},
       .make = make_repeats_task,
       .stream = 6,
       .of_ids = true},
  };
  return all;
}

std::vector<std::string> names() {
  std::vector<std::string> names;
  for (const Kind& kind : kinds()) names.push_back(kind.info.name);
  return names;
}

const Kind& kind_of(const std::string& name, std::string_view where) {
  const auto kind = std::ranges::find(kinds(), name, [](const Kind& one) { return one.info.name; });
  if (kind != kinds().end()) return *kind;
  throw UsageError(fault(where, fmt::format("one of {}", fmt::join(names(), ", ")),
                         in_quotes(name) + did_you_mean(name, names()), "correct the name"));
}

// Throws for an option that the task would ignore.
void refuse_idle(const Kind& kind, const TaskOptions& options) {
  if (kind.info.name == "keys" || options.items == 0) return;
  throw UsageError(
      fault("TaskOptions::items", "the task \"keys\"", kind.info.name, "leave one of the two out"));
}

// Returns the part of the distances that each case has: all parts once, and evenly in any run of
// successive cases. The multiples of the golden ratio modulo 1 have this property; the part is the
// rank of its multiple.
std::vector<Index> parts_of(Index cases) {
  constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15;  // 2^64 times .618
  std::vector<Index> order(static_cast<std::size_t>(cases)), parts(order.size());
  std::iota(order.begin(), order.end(), Index{0});
  std::ranges::sort(order, {}, [](Index i) { return static_cast<std::uint64_t>(i + 1) * kGolden; });
  for (Index rank = 0; rank < cases; ++rank) parts[order[rank]] = rank;
  return parts;
}

bool keeps(const TaskCase& one, const std::vector<TokenIds>& secrets) {
  return std::ranges::all_of(secrets, [&](const TokenIds& secret) {
    return count_of(one.prompt, secret) == 1 && count_of(one.control, secret) == 0;
  });
}

// Draws a case of the length asked for, whose answer stands in one place. `is_text`: its tokens are
// those of its text, tokenized as one. If these are more or fewer than were drawn, the same case
// gets less or more of the haystack once; then another one is drawn.
TaskCase fitting_case(const TaskGenerator& generator, const TaskMaterial& material, bool is_text,
                      Place place, Draws draws, const std::stop_token& stop) {
  const TaskOptions& options = material.options;
  for (int tries = 1; tries <= kMostTries; ++tries) {
    if (stop.stop_requested()) throw InterruptedError("interrupted: no task file was written");
    Draws next = draws;
    std::vector<TokenIds> secrets;
    const TaskCase draft = generator.draw(place, next, secrets);
    TaskCase one = draft;
    const bool apart =
        !is_text || tokenize_case(texts_of(draft, material.tokenizer), material.tokenizer, one);
    const Index missing = options.length - std::ssize(one.prompt) - std::ssize(one.answer);
    const Index missing_control = std::ssize(one.prompt) - std::ssize(one.control);
    const bool fits = missing == 0 && missing_control == 0;
    if (apart && fits && one.answer == draft.answer && keeps(one, secrets)) return one;
    if (!apart || fits || tries % 2 == 0) draws = next;
    if (!apart) continue;
    place.more += missing;
    place.more_control += missing_control;
  }
  throw BadInputError(
      fault(fmt::format("case {} of {}", place.number + 1, options.task),
            fmt::format("{} tokens with the answer in one place only", options.length),
            fmt::format("none in {} draws", kMostTries), "give another text or length"));
}

}  // namespace

TokenIds enough_words(const TaskMaterial& material, Index needed, WordParts parts) {
  TokenIds words = word_tokens(material.tokenizer, material.vocabulary, parts);
  if (std::ssize(words) >= needed) return words;
  throw BadInputError(fault(material.tokenizer.path(),
                            fmt::format("at least {} words of Latin letters", needed),
                            fmt::format("{}", words.size()),
                            fmt::format("give a shorter length than {} tokens, or another task",
                                        material.options.length)));
}

void refuse_length(const TaskOptions& options, Index least) {
  throw UsageError(fault(fmt::format("the task {}", options.task),
                         fmt::format("a length of at least {} tokens", least),
                         fmt::format("{}", options.length), "give a longer length"));
}

const TaskInfo& find_task(const std::string& name, std::string_view where) {
  return kind_of(name, where).info;
}

std::span<const TaskInfo> task_infos() {
  static const std::vector<TaskInfo> all = [] {
    std::vector<TaskInfo> infos;
    std::ranges::transform(kinds(), std::back_inserter(infos), &Kind::info);
    return infos;
  }();
  return all;
}

void make_task_cases(const TaskOptions& options, const Tokenizer& tokenizer, Index vocabulary,
                     const std::function<void(TaskCase)>& take, const std::stop_token& stop) {
  const Kind& kind = kind_of(options.task, "task");
  refuse_idle(kind, options);
  Tokenizer::Around around;
  tokenizer.encode("a", around);
  const TaskMaterial material{options, tokenizer, vocabulary, around.before};
  const std::unique_ptr<TaskGenerator> generator = kind.make(material, stop);
  const bool is_text = !kind.of_ids && std::ranges::none_of(options.text, &Text::is_ids);
  const std::vector<Index> parts = parts_of(options.cases);
  for (Index number = 0; number < options.cases; ++number) {
    TaskCase one =
        fitting_case(*generator, material, is_text, {number, parts[number], options.cases},
                     Draws(options.seed, kind.stream, static_cast<std::uint32_t>(number)), stop);
    one.task = kind.info.name;
    check_ids(one.prompt, vocabulary, options.task);
    check_ids(one.answer, vocabulary, options.task);
    take(std::move(one));
  }
}

}  // namespace headgauge
