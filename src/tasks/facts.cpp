// Tasks of facts in a haystack: `copy`, `passkey` and `keys`.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "tasks/generators.hpp"
#include "tasks/nouns.hpp"

namespace headgauge {
namespace {

constexpr Index kDigits = 5;     // of a number
constexpr Index kKeys = 4;       // without TaskOptions::items
constexpr Index kCue = 16;       // words of a passage that are said again in the prompt
constexpr Index kContinued = 8;  // words of a passage that are the answer

// Writes sentences as tokens: the words before a value, the value, and an end. A value has the same
// tokens in its sentence and in the answer.
class Sentences {
 public:
  explicit Sentences(const Tokenizer& tokenizer)
      : tokenizer_(tokenizer), line_(tokens_after(tokenizer, ".", "\n")) {}

  // Returns the tokens of a line break and of text behind it.
  TokenIds on_new_line(const std::string& text) const {
    return on_new_line(tokens_after(tokenizer_, "\n", text));
  }
  TokenIds on_new_line(const TokenIds& more) const {
    TokenIds ids = line_;
    append(ids, more);
    return ids;
  }
  // Returns the tokens of a value, which begins with a space, behind a word.
  TokenIds value(const std::string& text) const { return tokens_after(tokenizer_, "is", text); }
  // Returns the tokens of a sentence on a line of its own: text before the value, value, end.
  TokenIds fact(const std::string& before, const TokenIds& value, const std::string& end) const {
    TokenIds ids = tokens_after(tokenizer_, "\n", before);
    append(ids, value);
    append(ids, tokens_after(tokenizer_, "a", end));
    return fact(ids);
  }
  // Returns tokens on a line of their own.
  TokenIds fact(const TokenIds& ids) const {
    TokenIds line = on_new_line(ids);
    append(line, line_);
    return line;
  }
  Index line_size() const { return std::ssize(line_); }

 private:
  const Tokenizer& tokenizer_;
  TokenIds line_;
};

std::string digits(Draws& draws) {
  std::string text = {' ', static_cast<char>('1' + draws.below(9))};
  while (std::ssize(text) <= kDigits) text += static_cast<char>('0' + draws.below(10));
  return text;
}

// Draws nouns and numbers, each different from those before.
class Distinct {
 public:
  explicit Distinct(Draws& draws) : draws_(draws) {}

  std::string noun() {
    return fresh([&] { return draws_.one_of(nouns()); });
  }
  std::string number() {
    return fresh([&] { return digits(draws_); });
  }

 private:
  template <class Draw>
  std::string fresh(const Draw& draw) {
    for (;;) {
      std::string text = draw();
      if (taken_.insert(text).second) return text;
    }
  }

  Draws& draws_;
  std::set<std::string> taken_;
};

// A task whose facts stand in a haystack.
class FactTask : public TaskGenerator {
 public:
  FactTask(const TaskMaterial& material, const std::stop_token& stop)
      : material_(material),
        sentences_(material.tokenizer),
        haystack_(material.options.text, material.tokenizer, material.vocabulary, stop) {}

  TaskCase draw(const Place& place, Draws& draws, std::vector<TokenIds>& secrets) const override {
    Scene scene = this->scene(draws, secrets);
    scene.opening = material_.opening;
    scene.asked_from += sentences_.line_size();
    const Index least = least_length(scene);
    if (material_.options.length < least) refuse_length(material_.options, least);
    return hide(scene, material_.options.length, haystack_, place, draws);
  }

 protected:
  // Draws facts, question and answer. Scene::asked_from does not count the line break before the
  // fact.
  virtual Scene scene(Draws& draws, std::vector<TokenIds>& secrets) const = 0;

  const TaskOptions& options() const { return material_.options; }
  const Sentences& sentences() const { return sentences_; }
  const TaskMaterial& material() const { return material_; }

 private:
  const TaskMaterial& material_;
  Sentences sentences_;
  Haystack haystack_;
};

class CopyTask final : public FactTask {
 public:
  CopyTask(const TaskMaterial& material, const std::stop_token& stop)
      : FactTask(material, stop), words_(enough_words(material, 4 * (kCue + kContinued))) {}

 private:
  Scene scene(Draws& draws, std::vector<TokenIds>& secrets) const override {
    DistinctWords words(words_, draws);
    TokenIds passage;
    while (std::ssize(passage) < kCue + kContinued) passage.push_back(words.next());
    const TokenIds cue(passage.begin(), passage.begin() + kCue);
    Scene scene;
    scene.answer.assign(passage.begin() + kCue, passage.end());
    scene.asked = sentences().fact(passage);
    scene.asked_from = kCue;
    scene.source = material().tokenizer.decode(scene.answer);
    scene.question = sentences().on_new_line(cue);
    secrets = {scene.answer};
    return scene;
  }

  TokenIds words_;
};

class PasskeyTask final : public FactTask {
  using FactTask::FactTask;

  Scene scene(Draws& draws, std::vector<TokenIds>& secrets) const override {
    const std::string key = digits(draws);
    Scene scene;
    scene.answer = sentences().value(key);
    scene.asked = sentences().fact("The pass key is", scene.answer, ". Remember it.");
    scene.source = "The pass key is" + key + ". Remember it.";
    scene.question = sentences().on_new_line("What is the pass key? The pass key is");
    secrets = {scene.answer};
    return scene;
  }
};

class KeysTask final : public FactTask {
  using FactTask::FactTask;

  Scene scene(Draws& draws, std::vector<TokenIds>& secrets) const override {
    Distinct distinct(draws);
    const Index items = options().items > 0 ? options().items : kKeys;
    Scene scene;
    for (Index i = 0; i < items; ++i) {
      const std::string key = "special number of the " + distinct.noun();
      const std::string before = "The " + key + " is";
      const std::string text = distinct.number();
      const TokenIds value = sentences().value(text);
      secrets.push_back(value);
      TokenIds fact = sentences().fact(before, value, ".");
      if (i > 0) {
        scene.others.push_back(std::move(fact));
        continue;
      }
      scene.asked = std::move(fact);
      scene.answer = value;
      scene.source = before + text + ".";
      scene.question = sentences().on_new_line(fmt::format("What is the {}? {}", key, before));
    }
    secrets.resize(1);  // the numbers of the others stay in the control
    return scene;
  }
};

}  // namespace

const TaskMaker make_copy_task = make_task<CopyTask>;
const TaskMaker make_passkey_task = make_task<PasskeyTask>;
const TaskMaker make_keys_task = make_task<KeysTask>;

}  // namespace headgauge
