// The task `pairs`.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tasks/drawn_words.hpp"
#include "tasks/generators.hpp"

namespace headgauge {
namespace {

class PairsTask final : public TaskGenerator {
 public:
  PairsTask(const TaskMaterial& material, const std::stop_token&)
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
    for (Index i = 0; i < filler_; ++i) one.prompt.push_back(words.next());
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
        const int other_key = words.next(), other_value = words.next();
        append(one.control, pair_of(other_key, other_value));
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

const TaskMaker make_pairs_task = make_task<PairsTask>;

}  // namespace headgauge
