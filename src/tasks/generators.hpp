// The generators of the tasks.
#pragma once

#include <memory>
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
std::unique_ptr<TaskGenerator> make_copy_task(const TaskMaterial&, const std::stop_token&);
std::unique_ptr<TaskGenerator> make_pairs_task(const TaskMaterial&, const std::stop_token&);
std::unique_ptr<TaskGenerator> make_passkey_task(const TaskMaterial&, const std::stop_token&);
std::unique_ptr<TaskGenerator> make_keys_task(const TaskMaterial&, const std::stop_token&);
std::unique_ptr<TaskGenerator> make_values_task(const TaskMaterial&, const std::stop_token&);
std::unique_ptr<TaskGenerator> make_trace_task(const TaskMaterial&, const std::stop_token&);
std::unique_ptr<TaskGenerator> make_replay_task(const TaskMaterial&, const std::stop_token&);
std::unique_ptr<TaskGenerator> make_repeats_task(const TaskMaterial&, const std::stop_token&);

}  // namespace headgauge
