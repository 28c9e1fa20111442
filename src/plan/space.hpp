// The possible plans: the choices of a head, and how many keys they keep.
#pragma once

#include <vector>

#include "headgauge/plan.hpp"
#include "headgauge/results.hpp"

namespace headgauge {

// The index of each key-value head's choice.
using Choices = PerHead<int>;

// Heads of one layer that change together.
struct HeadGroup {
  int layer = 0;
  std::vector<int> heads;
};

// Returns the share of the cache that the layers hold that are not changed.
double fixed_share(const SourceInfo& source, const HeadSelection& changed, Index context);
// Returns what is left of the cache of the other layers if that of all is a share; at least 0.
double share_of_changed(double share, double fixed);

class PlanSpace {
 public:
  // `choices` are added to full attention, which is choice 0. `by_layer`: all heads of a layer have
  // the same choice. `changed`: the layers that have a choice.
  PlanSpace(const SourceInfo& source, Index context, const std::vector<HeadPlan>& choices,
            bool by_layer = false, HeadSelection changed = {});

  const SourceInfo& source() const { return source_; }
  bool by_layer() const { return by_layer_; }
  Index context() const { return context_; }
  int layers() const { return source_.layers; }
  int heads() const { return source_.kv_heads; }
  int size() const { return static_cast<int>(choices_.size()); }
  const std::vector<HeadPlan>& choices() const { return choices_; }
  const HeadPlan& choice(int number) const { return choices_[static_cast<std::size_t>(number)]; }
  bool changes(int layer) const { return source_.has_attention(layer) && changed_.layer(layer); }
  // Returns what is left of the cache of the layers that change if that of all is a share.
  double share_of_changed(double share) const { return headgauge::share_of_changed(share, fixed_); }
  // Returns the number of keys that a head of the layer keeps under a choice.
  Index keys(int layer, int choice) const { return keys_[layer][choice]; }

  // Gives all heads that change the same choice.
  Choices same(int choice) const;
  // Gives each layer the choice that keeps the fewest keys.
  Choices smallest() const;
  PerHead<HeadPlan> plan(const Choices& choices) const;
  // Returns the share of the full cache.
  double share(const Choices& choices) const;
  // Returns what the heads of a group keep under a choice, as a share of the full cache.
  double share_of(const HeadGroup& group, int choice) const {
    return static_cast<double>(keys(group.layer, choice) * std::ssize(group.heads)) / all_keys_;
  }
  // Returns the change of share() when a group takes a choice.
  double share_change(const Choices& from, const HeadGroup& group, int choice) const;

  // The groups of heads that choose apart: whole_layers() if the space is by layer, else
  // single_heads().
  std::vector<HeadGroup> units() const;
  std::vector<HeadGroup> single_heads() const;
  std::vector<HeadGroup> whole_layers() const;

 private:
  SourceInfo source_;
  Index context_;
  std::vector<HeadPlan> choices_;
  std::vector<std::vector<Index>> keys_;  // by layer and choice
  double all_keys_ = 0;
  double fixed_ = 0;  // share of the layers that do not change
  bool by_layer_ = false;
  HeadSelection changed_;
};

// Returns the choices after a group takes a new one.
Choices moved(Choices from, const HeadGroup& group, int choice);

// Returns the candidates of the options at a context, for shares of the layers that change, without
// duplicates: patterns that keep fewer keys than the context, most keys first, then normalizers.
std::vector<HeadPlan> candidates_of(const PlanOptions& options, const std::vector<double>& shares,
                                    Index context);

// Returns a pattern of sinks and a recent window with this many keys in total.
std::string sinks_and_window(Index keys);

}  // namespace headgauge
