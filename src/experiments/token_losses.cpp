#include "experiments/token_losses.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace headgauge {
namespace {

using Place = std::pair<Index, Index>;  // document, index of its loss

struct TokenChange {
  double size;
  Place place;
};

bool is_larger(const TokenChange& a, const TokenChange& b) {
  return a.size != b.size ? a.size > b.size : a.place < b.place;
}

// Returns the change of every loss that both predictions have; those of controls are of the
// original alone.
std::vector<TokenChange> changes_of(const Predictions& original, const Predictions& changed) {
  std::vector<TokenChange> changes;
  for (Index d = 0; d < std::min(std::ssize(original), std::ssize(changed)); ++d) {
    const std::vector<double>& before = original[d].losses;
    const std::vector<double>& after = changed[d].losses;
    for (Index t = 0; t < std::min(std::ssize(before), std::ssize(after)); ++t) {
      const double size = std::abs(after[t] - before[t]);
      if (std::isfinite(size)) changes.push_back({size, {d, t}});
    }
  }
  return changes;
}

}  // namespace

std::vector<TokenLoss> find_token_losses(const SourceInfo& source,
                                         std::span<const Predictions> predictions, Index most) {
  std::set<Place> chosen;
  for (std::size_t k = 1; k < predictions.size(); ++k) {
    std::vector<TokenChange> changes = changes_of(predictions[0], predictions[k]);
    const Index kept = std::min(most, std::ssize(changes));
    std::ranges::partial_sort(changes, changes.begin() + kept, is_larger);
    for (Index i = 0; i < kept; ++i) chosen.insert(changes[i].place);
  }
  std::vector<TokenLoss> found;
  for (const auto& [document, at] : chosen) {
    // The predictions of a document are those of its last tokens.
    const Index first = source.documents[document] - std::ssize(predictions[0][document].losses);
    TokenLoss& token = found.emplace_back();
    token.document = static_cast<int>(document);
    token.position = first + at;
    if (!source.is_text(document)) token.task = source.answers[document].task;
    for (const Predictions& each : predictions) token.losses.push_back(each[document].losses[at]);
  }
  return found;
}

}  // namespace headgauge
