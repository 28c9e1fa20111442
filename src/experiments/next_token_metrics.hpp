// Computes loss, its change, the divergence and the metrics of answers from predictions, and
// finds the tokens whose loss a change alters most.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "headgauge/heads.hpp"
#include "headgauge/model.hpp"
#include "headgauge/results.hpp"
#include "scan/answers.hpp"
#include "scan/repeats.hpp"

namespace headgauge {

// The metrics of the predictions over `dims`, the last of which is that of the interventions, and
// over length or the distance of repeats; cells start undefined.
class NextTokenMetrics {
 public:
  // `source`, `repeats` and `tasks` must live as long as this object. `curves`: answers also by
  // distance and by context.
  NextTokenMetrics(const SourceInfo& source, std::vector<std::string> dims,
                   const RepeatGaps& repeats, const TaskSet& tasks, bool curves, Results& results);
  // Fills in the lengths of one cell along `dims` (without length). The change is paired: its
  // standard error comes from the differences token by token. `whole`, of a pattern: the number of
  // the first queries that keep all their keys; the others have a change of their own.
  void put(std::span<const Index> cell, const Predictions& original,
           const Predictions& intervention, std::optional<Index> whole = {});

 private:
  const SourceInfo& source_;
  Results& results_;
  std::optional<AnswerMetrics> answers_;  // absent without tasks
  LabelledArray* loss_ = nullptr;         // these three are null without a text
  LabelledArray* change_ = nullptr;
  LabelledArray* divergence_ = nullptr;
  LabelledArray* same_token_ = nullptr;
  LabelledArray* of_losing_ = nullptr;  // null until a query loses keys
  const RepeatGaps& repeats_;
  LabelledArray* by_gap_ = nullptr;  // these three are null if no tokens are known
  LabelledArray* change_by_gap_ = nullptr;
  LabelledArray* reach_ = nullptr;
};

// Returns the `most` tokens with the largest absolute change of the loss under each of the
// predictions after the first, which are the model's own, in the order of the documents; a token
// that several changes choose stands there once. All predicted tokens of a text and the answers of
// cases take part. Among equal changes the first token wins.
std::vector<TokenLoss> find_token_losses(const SourceInfo& source,
                                         std::span<const Predictions> predictions, Index most);

}  // namespace headgauge
