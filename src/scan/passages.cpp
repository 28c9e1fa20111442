#include "scan/passages.hpp"

#include <algorithm>
#include <map>
#include <string>

namespace headgauge {

std::vector<Passage> passages_around(std::span<const Example> examples, const HeadSource& source) {
  std::map<int, std::vector<bool>> shown;  // by document and position
  for (const Example& example : examples) {
    std::vector<bool>& of_document = shown[example.document];
    const auto show = [&](Index at) {
      const Index end = at + kTokensAround + 1;
      if (std::ssize(of_document) < end) of_document.resize(static_cast<std::size_t>(end));
      for (Index i = std::max<Index>(0, at - kTokensAround); i < end; ++i) of_document[i] = true;
    };
    show(example.query);
    for (const Index key : example.keys) show(key);
  }
  std::vector<Passage> passages;
  for (const auto& [document, positions] : shown) {
    const std::vector<std::string> texts = source.token_texts(document);
    const Index length = std::min(std::ssize(texts), std::ssize(positions));
    for (Index i = 0; i < length; ++i) {
      if (!positions[i]) continue;
      if (i == 0 || !positions[i - 1]) passages.push_back({document, i, {}});
      passages.back().tokens.push_back(texts[i]);
    }
  }
  return passages;
}

}  // namespace headgauge
