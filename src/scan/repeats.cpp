#include "scan/repeats.hpp"

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <utility>

#include "base/octaves.hpp"
#include "headgauge/heads.hpp"
#include "heads/batch_means.hpp"
#include "results/mean_of.hpp"
#include "statistics/student.hpp"

namespace headgauge {
namespace {

constexpr double kLevel = 0.05;

std::uint64_t bigram(int first, int second) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(first)) << 32 |
         static_cast<std::uint32_t>(second);
}

}  // namespace

std::vector<Index> repeat_gaps(std::span<const int> tokens) {
  std::vector<Index> gaps;
  std::unordered_map<std::uint64_t, Index> last;
  for (Index t = 0; t + 1 < std::ssize(tokens); ++t) {
    const auto [at, is_new] = last.try_emplace(bigram(tokens[t], tokens[t + 1]), t);
    gaps.push_back(is_new ? 0 : t - at->second);
    at->second = t;
  }
  return gaps;
}

RepeatGaps::RepeatGaps(const HeadSource& source) {
  for (int d = 0; d < static_cast<int>(source.info().documents.size()); ++d) {
    gaps_.push_back(source.info().is_text(d) ? repeat_gaps(source.token_ids(d))
                                             : std::vector<Index>());
    for (const Index gap : gaps_.back()) {
      if (gap > 0) octaves_ = std::max(octaves_, octave_of(gap) + 1);
    }
  }
}

std::vector<std::string> RepeatGaps::labels() const {
  std::vector<std::string> labels;
  for (Index k = 0; k < octaves_; ++k) labels.push_back(octave_label(k));
  labels.emplace_back("none");
  return labels;
}

std::vector<Estimate> RepeatGaps::means(std::span<const std::vector<double>> values) const {
  struct Sums {
    BatchMeans by_document, by_block;
    RowSum document, block;
    Index documents = 0;
    void end_block() {
      document.add(block);
      by_block.add(std::exchange(block, {}));
    }
    void end_document() {
      end_block();
      documents += document.rows > 0 ? 1 : 0;
      by_document.add(std::exchange(document, {}));
    }
  };
  std::vector<Sums> all(octaves_ + 1);
  for (std::size_t d = 0; d < values.size(); ++d) {
    const Index count = std::min(std::ssize(values[d]), std::ssize(gaps_[d]));
    for (Index t = 0; t < count; ++t) {
      if (t % kBlockRows == 0) std::ranges::for_each(all, &Sums::end_block);
      const Index gap = gaps_[d][t];
      all[gap > 0 ? octave_of(gap) : octaves_].block.add({values[d][t], 1.0, 1});
    }
    std::ranges::for_each(all, &Sums::end_document);
  }
  std::vector<Estimate> found;
  for (const Sums& one : all) {
    found.push_back(
        (documents_are_batches(one.documents) ? one.by_document : one.by_block).finish());
  }
  return found;
}

double first_octave_above(std::span<const Estimate> changes, double least) {
  MeanWithError elsewhere = mean_of(changes.back());
  elsewhere.value += least;
  const Index octaves = std::ssize(changes) - 1;
  for (Index k = 0; k < octaves; ++k) {
    const TTest test = welch_test(mean_of(changes[k]), elsewhere, Tail::above);
    if (test.p * static_cast<double>(octaves) <= kLevel) {
      return static_cast<double>(Index{1} << k);
    }
  }
  return -1;
}

}  // namespace headgauge
