// The factorised patterns of the Sparse Transformer (Child et al. 2019). The paper gives its two
// sets of keys to separate heads or merges them; this code merges them.

#include "heads/pattern_families.hpp"

namespace headgauge {
namespace {

// Keeps keys with |i - j| < stride or i - j a multiple of stride.
class StridedMask final : public KeyMask {
 public:
  explicit StridedMask(Index stride) : stride_(stride) {}
  std::string name() const override { return "strided"; }
  void select(Index query, KeyRange range, std::span<const float>,
              std::vector<std::uint32_t>& keys) const override {
    KeyCollector to(range, keys);
    for (Index j = query % stride_; j < query; j += stride_) to.add(j, j + 1);
    to.add(query + 1 - stride_, query + stride_);
    for (Index j = query + stride_; j < range.end; j += stride_) to.add(j, j + 1);
  }

 private:
  Index stride_;
};

// Keeps keys with floor(j / stride) = floor(i / stride) or j mod stride >= stride - summary.
class FixedMask final : public KeyMask {
 public:
  FixedMask(Index stride, Index summary) : stride_(stride), summary_(summary) {}
  std::string name() const override { return "fixed"; }
  void select(Index query, KeyRange range, std::span<const float>,
              std::vector<std::uint32_t>& keys) const override {
    KeyCollector to(range, keys);
    for (Index begin = 0; begin < range.end; begin += stride_) {
      const bool own = begin == query / stride_ * stride_;
      to.add(own ? begin : begin + stride_ - summary_, begin + stride_);
    }
  }

 private:
  Index stride_, summary_;
};

// A pattern whose mask is the same for every head.
class PositionPattern final : public Pattern {
 public:
  PositionPattern(PatternInfo info, std::shared_ptr<const KeyMask> mask)
      : info_(std::move(info)), mask_(std::move(mask)) {}
  const PatternInfo& info() const override { return info_; }
  std::shared_ptr<const KeyMask> mask(const HeadInput&) const override { return mask_; }

 private:
  PatternInfo info_;
  std::shared_ptr<const KeyMask> mask_;
};

}  // namespace

PatternEntries strided_patterns() {
  const Parameter stride = {.key = "stride", .initial = 64.0, .domain = kPositiveCount};
  return {
      {{"strided",
        "the last `stride` keys, and those at a distance that `stride` divides",
        {stride},
        "Sparse Transformer; Child et al. 2019"},
       [](const PatternInfo& info) -> std::unique_ptr<Pattern> {
         return std::make_unique<PositionPattern>(
             info, std::make_shared<StridedMask>(info.parameters.whole("stride")));
       }},
      {{"fixed",
        "the query's own block of `stride` positions, and the last `summary` positions of every "
        "other block",
        {stride, {.key = "summary", .initial = 4.0, .domain = kPositiveCount, .at_most = "stride"}},
        "Sparse Transformer; Child et al. 2019"},
       [](const PatternInfo& info) -> std::unique_ptr<Pattern> {
         return std::make_unique<PositionPattern>(
             info, std::make_shared<FixedMask>(info.parameters.whole("stride"),
                                               info.parameters.whole("summary")));
       }},
  };
}

}  // namespace headgauge
