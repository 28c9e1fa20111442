// Draws the cases of a task, and its options.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>
#include <utility>

#include "headgauge/text.hpp"
#include "tasks/generators.hpp"

namespace headgauge {
namespace {

constexpr int kMostTries = 1000;  // draws of a case whose answer is elsewhere in the prompt, too

struct Kind {
  TaskInfo info;
  TaskMaker make;
  bool takes_values = false;
  bool takes_items = false;
};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = {
      {{"copy", "say on a passage of random tokens from its beginning",
        "induction heads (Olsson et al. 2022)"},
       make_copy_task},
      {{"passkey", "find the number of one sentence in a text",
        "pass key retrieval (Mohtashami and Jaggi 2023)"},
       make_passkey_task},
      {{"keys", "find the value of one key among several",
        "RULER, niah_multikey (Hsieh et al. 2024)"},
       make_keys_task,
       true,
       true},
      {{"values", "list all values of a key", "RULER, niah_multivalue (Hsieh et al. 2024)"},
       make_values_task,
       true,
       true},
      {{"pairs", "recall the value of a key among pairs of random tokens",
        "MQAR (Arora et al. 2023)", false},
       make_pairs_task},
      {{"trace", "follow a chain of variables to its number",
        "RULER, variable tracking (Hsieh et al. 2024)"},
       make_trace_task,
       false,
       true},
      {{"replay", "say on the beginning of a text at its end",
        "induction heads (Olsson et al. 2022), on natural text"},
       make_replay_task},
      {{"repeats", "say random tokens a second time",
        "repeated random tokens (Olsson et al. 2022)"},
       make_repeats_task},
  };
  return all;
}

std::vector<std::string> names() {
  std::vector<std::string> names;
  for (const Kind& kind : kinds()) names.push_back(kind.info.name);
  return names;
}

const Kind& kind_of(const std::string& name, const std::string& where) {
  const auto kind = std::ranges::find(kinds(), name, [](const Kind& one) { return one.info.name; });
  if (kind != kinds().end()) return *kind;
  throw UsageError(fault(where, fmt::format("one of {}", fmt::join(names(), ", ")),
                         in_quotes(name) + did_you_mean(name, names()), "correct the name"));
}

// Throws for an option that the task would ignore.
void refuse_idle(const Kind& kind, const TaskOptions& options) {
  const auto refuse = [&](const char* member, const auto& takes) {
    std::vector<std::string> takers;
    for (const Kind& one : kinds()) {
      if (takes(one)) takers.push_back(one.info.name);
    }
    throw UsageError(fault(member, fmt::format("one of {}", fmt::join(takers, ", ")),
                           kind.info.name, "leave one of the two out"));
  };
  if (!kind.info.takes_text && !options.text.empty()) {
    refuse("TaskOptions::text", [](const Kind& one) { return one.info.takes_text; });
  }
  if (!kind.takes_values && options.values != TaskValues::numbers) {
    refuse("TaskOptions::values", std::mem_fn(&Kind::takes_values));
  }
  if (!kind.takes_items && options.items > 0) {
    refuse("TaskOptions::items", std::mem_fn(&Kind::takes_items));
  }
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

}  // namespace

void refuse_length(const TaskOptions& options, Index least) {
  throw UsageError(fault(fmt::format("the task {}", options.task),
                         fmt::format("a length of at least {} tokens", least),
                         fmt::format("{}", options.length), "give a longer length"));
}

const TaskInfo& find_task(const std::string& name, const std::string& where) {
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
  const auto number_of_task = static_cast<std::uint32_t>(&kind - kinds().data());
  const std::vector<Index> parts = parts_of(options.cases);
  for (Index number = 0; number < options.cases; ++number) {
    if (stop.stop_requested()) throw InterruptedError("interrupted: no task file was written");
    Draws draws(options.seed, number_of_task, static_cast<std::uint32_t>(number));
    const Place place{number, parts[number], options.cases};
    TaskCase one;
    std::vector<TokenIds> secrets;
    int tries = 0;
    do {
      if (++tries > kMostTries) {
        throw BadInputError(fault(fmt::format("case {} of {}", number + 1, options.task),
                                  "a prompt with the answer in one place only",
                                  fmt::format("none in {} draws", kMostTries),
                                  "give another text or fewer tokens"));
      }
      secrets.clear();
      one = generator->draw(place, draws, secrets);
    } while (!keeps(one, secrets));
    one.task = kind.info.name;
    check_ids(one.prompt, vocabulary, options.task);
    check_ids(one.answer, vocabulary, options.task);
    take(std::move(one));
  }
}

}  // namespace headgauge
