#include "plan/space.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "convergence/budget.hpp"
#include "headgauge/model.hpp"
#include "headgauge/normalize.hpp"
#include "headgauge/patterns.hpp"

namespace headgauge {
namespace {

constexpr Index kFewestKeys = 16;

// Returns the sizes of the default candidates.
std::vector<Index> default_sizes(const std::vector<double>& shares, Index context) {
  std::vector<Index> sizes;
  for (const double share : shares) {
    sizes.push_back(static_cast<Index>(std::floor(share * static_cast<double>(context) + 1e-9)));
  }
  for (const Index part : {16, 64}) sizes.push_back(context / part);
  std::erase_if(sizes, [&](Index size) { return size < kFewestKeys || size >= context; });
  std::ranges::sort(sizes, std::greater());
  const auto repeated = std::ranges::unique(sizes);
  sizes.erase(repeated.begin(), repeated.end());
  return sizes;
}

// Refuses a pattern that keeps all keys at this context but would drop some of a longer one.
void require_fewer(const Pattern& pattern, const std::string& spec, Index context) {
  constexpr Index kFar = Index{1} << 40;
  if (pattern.cached_keys(context) < context || pattern.cached_keys(kFar) == kFar) return;
  throw UsageError(
      fault("PlanOptions::patterns",
            fmt::format("patterns of fewer than {} keys, the length of a piece", context),
            "\"" + spec + "\", which keeps every key", "ask for fewer keys"));
}

}  // namespace

std::string sinks_and_window(Index keys) {
  const Index sinks = std::min(kSinks, keys - 1);
  return sinks > 0 ? fmt::format("sinks:sinks={},window={}", sinks, keys - sinks)
                   : fmt::format("window:size={}", keys);
}

std::vector<HeadPlan> candidates_of(const PlanOptions& options, const std::vector<double>& shares,
                                    Index context) {
  std::vector<HeadPlan> candidates;
  const auto add = [&](HeadPlan candidate) {
    if (std::ranges::count(candidates, candidate) == 0) candidates.push_back(std::move(candidate));
  };
  for (const std::string& pattern : options.patterns) {
    require_fewer(*make_pattern(pattern, "PlanOptions::patterns"), pattern, context);
    add({pattern, ""});
  }
  if (options.patterns.empty()) {
    for (const Index size : default_sizes(shares, context)) add({sinks_and_window(size), ""});
  }
  std::ranges::stable_sort(candidates, std::greater(), [&](const HeadPlan& candidate) {
    return make_pattern(candidate.pattern)->cached_keys(context);
  });
  std::vector<std::string> normalizers = options.normalizers;
  if (normalizers.empty()) normalizers = {"uniform"};
  for (const std::string& normalizer : normalizers) {
    require_derivative(*make_normalizer(normalizer, "PlanOptions::normalizers"));
    // softmax is the model's own, written as an empty name.
    if (normalizer != "softmax") add({"", normalizer});
  }
  return candidates;
}

double fixed_share(const SourceInfo& source, const HeadSelection& changed, Index context) {
  Index all = 0, fixed = 0;
  for (int layer = 0; layer < source.layers; ++layer) {
    const Index keys = cached_keys(HeadPlan{}, layer, source, context);
    all += keys;
    if (!changed.layer(layer)) fixed += keys;
  }
  return static_cast<double>(fixed) / static_cast<double>(all);
}

double share_of_changed(double share, double fixed) {
  return std::max(0.0, (share - fixed) / (1 - fixed));
}

PlanSpace::PlanSpace(const SourceInfo& source, Index context, const std::vector<HeadPlan>& choices,
                     bool by_layer, HeadSelection changed)
    : source_(source),
      context_(context),
      choices_{HeadPlan{}},
      by_layer_(by_layer),
      changed_(std::move(changed)) {
  choices_.insert(choices_.end(), choices.begin(), choices.end());
  for (int layer = 0; layer < layers(); ++layer) {
    std::vector<Index>& of_layer = keys_.emplace_back();
    for (const HeadPlan& choice : choices_) {
      of_layer.push_back(cached_keys(choice, layer, source_, context_));
    }
    all_keys_ += static_cast<double>(of_layer.front() * heads());
  }
  fixed_ = fixed_share(source, changed_, context);
}

Choices PlanSpace::same(int choice) const {
  Choices choices(layers(), heads());
  choices.each([&](int layer, int, int& here) {
    if (changes(layer)) here = choice;
  });
  return choices;
}

Choices PlanSpace::smallest() const {
  Choices choices(layers(), heads());
  choices.each([&](int layer, int, int& choice) {
    if (!changes(layer)) return;
    choice = static_cast<int>(std::ranges::min_element(keys_[layer]) - keys_[layer].begin());
  });
  return choices;
}

PerHead<HeadPlan> PlanSpace::plan(const Choices& choices) const {
  PerHead<HeadPlan> plan(layers(), heads());
  plan.each([&](int layer, int head, HeadPlan& here) { here = choice(choices(layer, head)); });
  return plan;
}

double PlanSpace::share(const Choices& choices) const {
  double kept = 0;
  choices.each(
      [&](int layer, int, int choice) { kept += static_cast<double>(keys(layer, choice)); });
  return kept / all_keys_;
}

double PlanSpace::share_change(const Choices& from, const HeadGroup& group, int choice) const {
  Index change = 0;
  for (const int head : group.heads) {
    change += keys(group.layer, choice) - keys(group.layer, from(group.layer, head));
  }
  return static_cast<double>(change) / all_keys_;
}

std::vector<HeadGroup> PlanSpace::units() const {
  return by_layer_ ? whole_layers() : single_heads();
}

std::vector<HeadGroup> PlanSpace::single_heads() const {
  std::vector<HeadGroup> groups;
  for (const HeadGroup& layer : whole_layers()) {
    for (const int head : layer.heads) groups.push_back({layer.layer, {head}});
  }
  return groups;
}

std::vector<HeadGroup> PlanSpace::whole_layers() const {
  std::vector<int> all(static_cast<std::size_t>(heads()));
  std::iota(all.begin(), all.end(), 0);
  std::vector<HeadGroup> groups;
  for (const int layer : source_.attention_layers()) {
    if (changes(layer)) groups.push_back({layer, all});
  }
  return groups;
}

Choices moved(Choices from, const HeadGroup& group, int choice) {
  for (const int head : group.heads) from(group.layer, head) = choice;
  return from;
}

}  // namespace headgauge
