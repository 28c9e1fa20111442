#include <algorithm>
#include <numeric>
#include <utility>

#include "headgauge/text.hpp"

namespace headgauge {
namespace {

// Counts the characters to insert, drop or replace to turn one word into the other.
std::size_t edits(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::size_t before = row[0]++;
    for (std::size_t j = 0; j < to.size(); ++j) {
      const std::size_t change = before + (from[i] != to[j] ? 1 : 0);
      before = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, before + 1, change});
    }
  }
  return row.back();
}

// A word that begins with what was typed is near, however long.
bool begins(std::string_view word, std::string_view typed) {
  return !typed.empty() && word.starts_with(typed);
}

}  // namespace

std::vector<std::string> nearest_words(std::string_view word, std::vector<std::string> known,
                                       std::size_t most) {
  std::ranges::stable_sort(known, {}, [&](const std::string& other) {
    return begins(other, word) ? 0 : edits(word, other);
  });
  known.resize(std::min(known.size(), most));
  return known;
}

std::string did_you_mean(std::string_view word, std::vector<std::string> known) {
  constexpr std::size_t kNear = 3, kBeginning = 4;
  const auto nearest = nearest_words(word, std::move(known), 1);
  if (nearest.empty()) return "";
  const std::string& other = nearest.front();
  const std::size_t distance = edits(word, other);
  const bool near = (distance < kNear && 2 * distance <= other.size()) ||
                    (word.size() >= kBeginning && begins(other, word));
  return near ? " (did you mean " + other + "?)" : "";
}

}  // namespace headgauge
