// Tasks of tokens that are said twice: `replay` and `repeats`.
#include <algorithm>
#include <span>

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
    const Index size = std::max(piece_ + place.more, kReplayed + 1);
    const Index others = std::max<Index>(kReplayed + place.more_control, 0);
    Hay hay = haystack_.piece(size + others, piece_ + kReplayed, place.number, draws);
    const auto cue = hay.take(kReplayedCue), answer = hay.take(kReplayed - kReplayedCue);
    const auto rest = hay.take(size - kReplayed);
    TaskCase one;
    one.prompt = one.control = material_.opening;
    append(one.control, hay.take(others));
    for (const auto part : {cue, answer, rest, cue}) append(one.prompt, part);
    for (const auto part : {rest, cue}) append(one.control, part);
    append(one.answer, answer);
    one.source = material_.tokenizer.decode(one.answer);
    one.distance = std::ssize(cue) + std::ssize(answer) + std::ssize(rest);
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

const TaskMaker make_replay_task = make_task<ReplayTask>;
const TaskMaker make_repeats_task = make_task<RepeatsTask>;

}  // namespace headgauge
