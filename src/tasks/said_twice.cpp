// Tasks of tokens that are said twice: `replay` and `repeats`.
#include <fmt/format.h>

#include <span>
#include <utility>

#include "tasks/drawn_words.hpp"
#include "tasks/generators.hpp"
#include "tasks/haystack.hpp"

namespace headgauge {
namespace {

constexpr Index kReplayed = 64;    // tokens of the text that are said again
constexpr Index kReplayedCue = 8;  // of them in the prompt
constexpr Index kRepeated = 32;    // random tokens that are said again; the first is in the prompt

using Tokens = std::span<const int>;

// Says `passage` twice with `gap` between. The prompt ends with the first `cue` tokens of the
// second saying, whose others are the answer. The control has `others` in place of the first
// saying.
TaskCase say_twice(const TaskMaterial& material, Tokens before, Tokens passage, Tokens others,
                   Tokens gap, Index cue) {
  const auto first = static_cast<std::size_t>(cue);
  TaskCase one;
  const auto compose = [&](TokenIds& ids, Tokens said_first) {
    ids = material.opening;
    for (const Tokens part : {before, said_first, gap, passage.first(first)}) append(ids, part);
  };
  compose(one.prompt, passage);
  compose(one.control, others);
  append(one.answer, passage.subspan(first));
  one.source = material.tokenizer.decode(one.answer);
  one.distance = std::ssize(passage) + std::ssize(gap);
  return one;
}

class ReplayTask final : public TaskGenerator {
 public:
  ReplayTask(const TaskMaterial& material, const std::stop_token& stop)
      : material_(material),
        gap_(material.options.length - std::ssize(material.opening) - 2 * kReplayed),
        haystack_(material.options.text, material.tokenizer, material.vocabulary, stop) {
    if (gap_ < 1) refuse_length(material.options, material.options.length - gap_ + 1);
  }

  TaskCase draw(const Place& place, Draws& draws, std::vector<TokenIds>& secrets) const override {
    const TokenIds piece = haystack_.piece(gap_ + 2 * kReplayed, place.number, draws);
    const Tokens all(piece);
    const Tokens passage = all.first(kReplayed), others = all.last(kReplayed);
    const Tokens gap = all.subspan(kReplayed, static_cast<std::size_t>(gap_));
    TaskCase one = say_twice(material_, {}, passage, others, gap, kReplayedCue);
    secrets.push_back(one.answer);
    return one;
  }

 private:
  const TaskMaterial& material_;
  Index gap_;  // tokens between the two sayings
  Haystack haystack_;
};

class RepeatsTask final : public TaskGenerator {
 public:
  explicit RepeatsTask(const TaskMaterial& material)
      : material_(material),
        filled_(material.options.length - std::ssize(material.opening) - 2 * kRepeated) {
    if (filled_ < 0) refuse_length(material.options, material.options.length - filled_);
    words_ = enough_words(material, filled_ + 4 * kRepeated);
  }

  TaskCase draw(const Place& place, Draws& draws, std::vector<TokenIds>& secrets) const override {
    DistinctWords words(words_, draws);
    const auto draw_words = [&](Index count) {
      TokenIds drawn;
      while (std::ssize(drawn) < count) drawn.push_back(words.next());
      return drawn;
    };
    const Index gap = place.between(0, filled_);
    const TokenIds passage = draw_words(kRepeated), others = draw_words(kRepeated);
    const TokenIds between = draw_words(gap), before = draw_words(filled_ - gap);
    TaskCase one = say_twice(material_, before, passage, others, between, 1);
    secrets.push_back(one.answer);
    return one;
  }

 private:
  const TaskMaterial& material_;
  Index filled_;  // tokens before the first saying and between the two
  TokenIds words_;
};

}  // namespace

std::unique_ptr<TaskGenerator> make_replay_task(const TaskMaterial& material,
                                                const std::stop_token& stop) {
  return std::make_unique<ReplayTask>(material, stop);
}
std::unique_ptr<TaskGenerator> make_repeats_task(const TaskMaterial& material,
                                                 const std::stop_token&) {
  return std::make_unique<RepeatsTask>(material);
}

}  // namespace headgauge
