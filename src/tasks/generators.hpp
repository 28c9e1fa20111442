// The generators of the tasks.
#pragma once

#include <memory>
#include <unordered_set>
#include <vector>

#include "headgauge/generators.hpp"
#include "tasks/draws.hpp"
#include "tasks/haystack.hpp"
#include "tasks/phrases.hpp"
#include "tasks/scene.hpp"

namespace headgauge {

// What the generators of all tasks use.
struct TaskMaterial {
  const TaskOptions& options;
  const Tokenizer& tokenizer;
  Index vocabulary;
  TokenIds opening;  // special tokens before the text
};

class TaskGenerator {
 public:
  virtual ~TaskGenerator() = default;
  // Draws a case. `secrets` receives what must occur once in the prompt and never in the control.
  virtual TaskCase draw(const Place& place, Draws& draws, std::vector<TokenIds>& secrets) const = 0;
};

// Throws UsageError: prompt and answer need at least `least` tokens.
[[noreturn]] void refuse_length(const TaskOptions& options, Index least);

using TaskMaker = std::unique_ptr<TaskGenerator> (*)(const TaskMaterial& material,
                                                     const std::stop_token& stop);
template <class Task>
std::unique_ptr<TaskGenerator> make_task(const TaskMaterial& material,
                                         const std::stop_token& stop) {
  return std::make_unique<Task>(material, stop);
}
extern const TaskMaker make_copy_task, make_passkey_task, make_keys_task, make_replay_task,
    make_repeats_task;

// Returns the words that word_tokens() finds. Throws BadInputError if they are fewer than `needed`.
TokenIds enough_words(const TaskMaterial& material, Index needed, WordParts parts = WordParts::no);

// Draws words, each different from those drawn before.
class DistinctWords {
 public:
  DistinctWords(const TokenIds& words, Draws& draws) : words_(words), draws_(draws) {}

  int next() {
    for (;;) {
      const int word = draws_.one_of(words_);
      if (taken_.insert(word).second) return word;
    }
  }

 private:
  const TokenIds& words_;
  Draws& draws_;
  std::unordered_set<int> taken_;
};

}  // namespace headgauge
