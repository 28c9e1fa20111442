// Tasks of tokens that are said twice: `replay` and `repeats`.
#include <span>

#include "tasks/drawn_words.hpp"
#include "tasks/generators.hpp"
#include "tasks/haystack.hpp"
#include "tasks/scene.hpp"

namespace headgauge {
namespace {

constexpr Index kReplayed = 64;    // tokens of the text that are said again
constexpr Index kReplayedCue = 8;  // of them in the prompt
constexpr Index kRepeated = 32;    // random tokens that are said again; the first is in the prompt

class ReplayTask final : public TaskGenerator {
 public:
  ReplayTask(const TaskMaterial& material, const std::stop_token& stop)
      : material_(material),
        piece_(material.options.length - std::ssize(material.opening) - kReplayed),
        haystack_(material.options.text, material.tokenizer, material.vocabulary, stop) {
    if (piece_ <= kReplayed) refuse_length(material.options, options_length(kReplayed + 1));
  }

  TaskCase draw(const Place& place, Draws& draws, std::vector<TokenIds>& secrets) const override {
    const TokenIds tokens = haystack_.piece(piece_ + kReplayed, place.number, draws);
    const std::span<const int> piece = std::span(tokens).first(static_cast<std::size_t>(piece_));
    const auto others = std::span(tokens).subspan(piece.size());
    const auto cue = piece.first(kReplayedCue);
    TaskCase one;
    one.prompt = one.control = material_.opening;
    append(one.prompt, piece);
    append(one.prompt, cue);
    append(one.control, others);
    append(one.control, piece.subspan(kReplayed));
    append(one.control, cue);
    append(one.answer, piece.first(kReplayed).subspan(kReplayedCue));
    one.source = material_.tokenizer.decode(one.answer);
    one.distance = piece_;
    secrets.push_back(one.answer);
    return one;
  }

 private:
  Index options_length(Index piece) const { return material_.options.length - piece_ + piece; }

  const TaskMaterial& material_;
  Index piece_;  // tokens of the text, whose first are said again
  Haystack haystack_;
};

class RepeatsTask final : public TaskGenerator {
 public:
  RepeatsTask(const TaskMaterial& material, const std::stop_token& stop)
      : material_(material),
        words_(enough_words(material, 4 * kRepeated, WordParts::yes)),
        haystack_(material.options.text, material.tokenizer, material.vocabulary, stop) {}

  TaskCase draw(const Place& place, Draws& draws, std::vector<TokenIds>& secrets) const override {
    DistinctWords words(words_, draws);
    Scene scene;
    scene.opening = material_.opening;
    while (std::ssize(scene.asked) < kRepeated) scene.asked.push_back(words.next());
    scene.asked_from = 1;
    scene.question = {scene.asked.front()};
    scene.answer.assign(scene.asked.begin() + 1, scene.asked.end());
    scene.source = material_.tokenizer.decode(scene.answer);
    secrets = {scene.answer};
    const Index least = least_length(scene);
    if (material_.options.length < least) refuse_length(material_.options, least);
    return hide(scene, material_.options.length, haystack_, place, draws);
  }

 private:
  const TaskMaterial& material_;
  TokenIds words_;
  Haystack haystack_;
};

}  // namespace

std::unique_ptr<TaskGenerator> make_replay_task(const TaskMaterial& material,
                                                const std::stop_token& stop) {
  return std::make_unique<ReplayTask>(material, stop);
}
std::unique_ptr<TaskGenerator> make_repeats_task(const TaskMaterial& material,
                                                 const std::stop_token& stop) {
  return std::make_unique<RepeatsTask>(material, stop);
}

}  // namespace headgauge
