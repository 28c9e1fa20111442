// What a plan may be made of: the choices of a head, and what they keep.
#pragma once

#include <vector>

#include "headgauge/plan.hpp"

namespace headgauge {

// The number of the choice that each key-value head has made.
using Choices = PerHead<int>;

// Heads of one layer that move together.
struct HeadGroup {
  int layer = 0;
  std::vector<int> heads;
};

class PlanSpace {
 public:
  // `choices` besides full attention, which is choice 0.
  PlanSpace(const SourceInfo& source, Index context, const std::vector<HeadPlan>& choices);

  const SourceInfo& source() const { return source_; }
  Index context() const { return context_; }
  int layers() const { return source_.layers; }
  int heads() const { return source_.kv_heads; }
  int size() const { return static_cast<int>(choices_.size()); }
  const HeadPlan& choice(int number) const { return choices_[static_cast<std::size_t>(number)]; }
  // The keys that a head of the layer keeps by a choice.
  Index keys(int layer, int choice) const { return keys_[layer][choice]; }

  // One choice for all heads.
  Choices same(int choice) const;
  // The choices of the fewest keys in each layer.
  Choices smallest() const;
  PerHead<HeadPlan> plan(const Choices& choices) const;
  // Of the full cache.
  double share(const Choices& choices) const;
  // The change of share() when a group makes a choice.
  double share_change(const Choices& from, const HeadGroup& group, int choice) const;

  std::vector<HeadGroup> single_heads() const;
  std::vector<HeadGroup> whole_layers() const;

 private:
  SourceInfo source_;
  Index context_;
  std::vector<HeadPlan> choices_;
  std::vector<std::vector<Index>> keys_;  // by layer and choice
  double all_keys_ = 0;
};

// The choices after a group has made one.
Choices moved(Choices from, const HeadGroup& group, int choice);

// The candidates of the options at a context, each once: patterns that keep fewer keys than the
// context, most keys first, then normalizers.
std::vector<HeadPlan> candidates_of(const PlanOptions& options, const std::vector<double>& shares,
                                    const SourceInfo& source, Index context);

// Sinks and a recent window of so many keys in all.
std::string sinks_and_window(Index keys);

}  // namespace headgauge
