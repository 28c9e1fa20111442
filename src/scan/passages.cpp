#include "scan/passages.hpp"

#include <algorithm>
#include <map>
#include <string>

namespace headgauge {

namespace {

// The positions that are shown, by document.
class ShownPositions {
 public:
  void show_around(int document, Index at) {
    std::vector<bool>& shown = by_document_[document];
    const Index end = at + kTokensAround + 1;
    if (std::ssize(shown) < end) shown.resize(static_cast<std::size_t>(end));
    for (Index i = std::max<Index>(0, at - kTokensAround); i < end; ++i) shown[i] = true;
  }

  std::vector<Passage> passages(const HeadSource& source) const {
    std::vector<Passage> found;
    for (const auto& [document, shown] : by_document_) {
      const std::vector<std::string> texts = source.token_texts(document);
      const Index length = std::min(std::ssize(texts), std::ssize(shown));
      for (Index i = 0; i < length; ++i) {
        if (!shown[i]) continue;
        if (i == 0 || !shown[i - 1]) found.push_back({document, i, {}});
        found.back().tokens.push_back(texts[i]);
      }
    }
    return found;
  }

 private:
  std::map<int, std::vector<bool>> by_document_;
};

}  // namespace

std::vector<Passage> passages_around(std::span<const Example> examples, const HeadSource& source) {
  ShownPositions shown;
  for (const Example& example : examples) {
    shown.show_around(example.document, example.query);
    for (const Index key : example.keys) shown.show_around(example.document, key);
  }
  return shown.passages(source);
}

std::vector<Passage> passages_around(std::span<const TokenLoss> tokens, const HeadSource& source) {
  ShownPositions shown;
  for (const TokenLoss& token : tokens) shown.show_around(token.document, token.position);
  return shown.passages(source);
}

}  // namespace headgauge
