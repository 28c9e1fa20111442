// Tasks of random tokens: `copy` and `pairs`.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "tasks/generators.hpp"

namespace headgauge {
namespace {

constexpr Index kCue = 16;       // tokens of the passage that are said again in the prompt
constexpr Index kContinued = 8;  // tokens of the passage that are the answer

// Draws words, each different from the others that were drawn or named.
class DistinctWords {
 public:
  DistinctWords(const TokenIds& words, Draws& draws) : words_(words), draws_(draws) {}

  int next() {
    for (;;) {
      const int word = draws_.one_of(words_);
      if (taken_.insert(word).second) return word;
    }
  }
  // Returns words that next() never returned; they may repeat.
  TokenIds others(Index count) {
    TokenIds ids;
    while (std::ssize(ids) < count) {
      const int word = draws_.one_of(words_);
      if (!taken_.contains(word)) ids.push_back(word);
    }
    return ids;
  }

 private:
  const TokenIds& words_;
  Draws& draws_;
  std::unordered_set<int> taken_;
};

TokenIds enough_words(const TaskMaterial& material, Index needed) {
  TokenIds words = word_tokens(material.tokenizer, material.vocabulary);
  if (std::ssize(words) >= needed) return words;
  throw BadInputError(fault(material.tokenizer.path(),
                            fmt::format("at least {} words of Latin letters", needed),
                            fmt::format("{}", words.size()),
                            fmt::format("give TaskOptions::length of fewer tokens than {}, or "
                                        "another task",
                                        material.options.length)));
}

class CopyTask final : public TaskGenerator {
 public:
  explicit CopyTask(const TaskMaterial& material)
      : material_(material), words_(enough_words(material, 4 * (kCue + kContinued))) {
    const Index least = std::ssize(material.opening) + 2 * (kCue + kContinued);
    if (material.options.length < least) refuse_length(material.options, least);
  }

  TaskCase draw(const Place& place, Draws& draws, std::vector<TokenIds>& secrets) const override {
    DistinctWords words(words_, draws);
    TokenIds passage;
    while (std::ssize(passage) < kCue + kContinued) passage.push_back(words.next());
    const TokenIds cue(passage.begin(), passage.begin() + kCue);
    TaskCase one;
    one.answer.assign(passage.begin() + kCue, passage.end());
    const Index body =
        material_.options.length - std::ssize(material_.opening) - kCue - kContinued;
    one.distance = place.between(kCue + kContinued, body);
    const TokenIds filler = words.others(body);
    one.control = material_.opening;
    append(one.control, filler);
    append(one.control, cue);
    one.prompt = one.control;
    std::ranges::copy(passage, one.prompt.end() - kCue - one.distance);
    one.source = material_.tokenizer.decode(one.answer);
    secrets.push_back(one.answer);
    return one;
  }

 private:
  const TaskMaterial& material_;
  TokenIds words_;
};

class PairsTask final : public TaskGenerator {
 public:
  explicit PairsTask(const TaskMaterial& material)
      : material_(material),
        colon_(tokens_after(material.tokenizer, "a", ":")),
        end_(tokens_after(material.tokenizer, "a", "\n")) {
    const Index question = 1 + std::ssize(colon_), answer = 1;
    const Index fixed = std::ssize(material.opening) + question + answer;
    if (material.options.length < fixed + 2 * pair_size())
      refuse_length(material.options, fixed + 2 * pair_size());
    pairs_ = (material.options.length - fixed) / pair_size();
    filler_ = (material.options.length - fixed) % pair_size();
    words_ = enough_words(material, 4 * (pairs_ + 2));
  }

  TaskCase draw(const Place& place, Draws& draws, std::vector<TokenIds>& secrets) const override {
    DistinctWords words(words_, draws);
    const Index asked = place.between(0, pairs_ - 1);  // counted from the last pair
    TaskCase one;
    one.prompt = material_.opening;
    append(one.prompt, words.others(filler_));
    one.control = one.prompt;
    TokenIds question;
    for (Index left = pairs_ - 1; left >= 0; --left) {
      const int key = words.next(), value = words.next();
      const TokenIds pair = pair_of(key, value);
      if (left == asked) {
        question = {key};
        append(question, colon_);
        one.answer = {value};
        one.source = material_.tokenizer.decode(std::span(pair).first(pair.size() - end_.size()));
        one.distance = std::ssize(one.prompt);  // of the pair, so far
        append(one.control, pair_of(words.next(), words.next()));
      } else {
        append(one.control, pair);
      }
      append(one.prompt, pair);
    }
    append(one.prompt, question);
    append(one.control, question);
    one.distance = std::ssize(one.prompt) - one.distance;
    secrets.push_back(one.answer);
    return one;
  }

 private:
  Index pair_size() const { return 2 + std::ssize(colon_) + std::ssize(end_); }

  TokenIds pair_of(int key, int value) const {
    TokenIds pair = {key};
    append(pair, colon_);
    pair.push_back(value);
    append(pair, end_);
    return pair;
  }

  const TaskMaterial& material_;
  TokenIds colon_, end_, words_;
  Index pairs_ = 0, filler_ = 0;
};

}  // namespace

std::unique_ptr<TaskGenerator> make_copy_task(const TaskMaterial& material,
                                              const std::stop_token&) {
  return std::make_unique<CopyTask>(material);
}

std::unique_ptr<TaskGenerator> make_pairs_task(const TaskMaterial& material,
                                               const std::stop_token&) {
  return std::make_unique<PairsTask>(material);
}

}  // namespace headgauge
