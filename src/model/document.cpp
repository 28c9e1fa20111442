#include <fmt/format.h>

#include <algorithm>

#include "headgauge/model.hpp"

namespace headgauge {

std::vector<int> Document::context(Index length) const {
  const auto around = static_cast<Index>(before.size() + after.size());
  if (length < around) {
    throw BadInputError(
        fault("ScanOptions::lengths",
              fmt::format("at least {}, for {} special tokens stand around a text", around, around),
              std::to_string(length), "ask for longer ones, or give token ids"));
  }
  std::vector<int> ids = before;
  const auto inner = std::min<Index>(length - around, std::ssize(tokens));
  ids.insert(ids.end(), tokens.begin(), tokens.begin() + inner);
  ids.insert(ids.end(), after.begin(), after.end());
  return ids;
}

void Document::cut(std::size_t length) {
  const std::size_t around = before.size() + after.size();
  tokens.resize(std::min(tokens.size(), length > around ? length - around : 0));
}

}  // namespace headgauge
