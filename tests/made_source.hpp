// Heads of one layer and one text that a test makes.
#pragma once

#include "headgauge/headgauge.hpp"

namespace headgauge {

class SourceOfHeads : public HeadSource {
 public:
  const SourceInfo& info() const override { return info_; }
  std::span<const HeadInput> layer(int, int) override { return heads_; }

 protected:
  SourceOfHeads(int heads, Index length, const Visibility& visibility = Visibility::causal())
      : heads_(heads) {
    info_.layers = 1;
    info_.heads = info_.kv_heads = heads;
    info_.causal = visibility.is_causal();
    info_.has_x = info_.has_values = info_.has_loss = false;
    info_.documents = {length};
    for (int h = 0; h < heads; ++h) {
      heads_[h].head = h;
      heads_[h].visibility = visibility;
    }
  }
  SourceInfo info_;
  std::vector<HeadInput> heads_;
};

}  // namespace headgauge
