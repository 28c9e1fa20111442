// The oracle that keeps the largest logits.
#include <fmt/format.h>

#include "heads/pattern_families.hpp"
#include "kernels/top.hpp"

namespace headgauge {
namespace {

class TopKeysMask final : public KeyMask {
 public:
  explicit TopKeysMask(Index k) : k_(k) {}
  std::string name() const override { return "topk"; }
  bool needs_logits() const override { return true; }
  void select(Index, KeyRange range, std::span<const float> logits,
              std::vector<std::uint32_t>& keys) const override {
    thread_local TopWorkspace work;
    keys.resize(static_cast<std::size_t>(std::min(k_, range.size())));
    select_top(logits, static_cast<Index>(keys.size()), keys, work);
    for (std::uint32_t& key : keys) key += static_cast<std::uint32_t>(range.begin);
    std::ranges::sort(keys);
  }

 private:
  Index k_;
};

class TopKeys final : public Pattern {
 public:
  TopKeys(PatternInfo info, Index k) : info_(std::move(info)), k_(k) {}
  const PatternInfo& info() const override { return info_; }
  std::shared_ptr<const KeyMask> mask(const HeadInput&) const override {
    return std::make_shared<TopKeysMask>(k_);
  }
  std::string notice(const SourceInfo& source, Index longest) const override {
    Index fewest = longest;
    for (Index d = 0; d < std::ssize(source.documents); ++d) {
      if (source.is_measured(d)) fewest = std::min(fewest, source.documents[d]);
    }
    if (source.causal) fewest = std::min<Index>(fewest, 1);
    if (k_ <= fewest) return {};
    return fmt::format("topk: k = {} exceeds the number of keys of {}; these rows keep all keys",
                       k_, source.causal ? "the first rows" : "some rows");
  }

 private:
  PatternInfo info_;
  Index k_;
};

}  // namespace

PatternMakers content_patterns() {
  return {
      {"topk",
       [](const PatternInfo& info) -> std::unique_ptr<Pattern> {
         return std::make_unique<TopKeys>(info, info.parameters.whole("k"));
       }},
  };
}

}  // namespace headgauge
