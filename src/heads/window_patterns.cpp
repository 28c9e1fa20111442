// Patterns around a local window: sliding window with global keys, attention sinks, BigBird.
#include <fmt/format.h>

#include "base/random.hpp"
#include "heads/pattern_rules.hpp"

namespace headgauge {
namespace {

constexpr RuleParameters::Domain kCount{.lowest = 0, .highest = 1e9, .whole = true};
constexpr RuleParameters::Domain kSize{.lowest = 1, .highest = 1e9, .whole = true};
constexpr RuleParameters::Domain kSeed{.lowest = 0, .highest = 0x1p53, .whole = true};

// The first `shown` keys are seen by all; the first `seeing` queries see all.
struct WindowShape {
  LocalWindow window;
  Index shown = 0;
  Index seeing = 0;
  void collect(Index query, KeyRange range, std::vector<std::uint32_t>& keys) const {
    KeyCollector to(range, keys);
    if (query < seeing) return to.add(range.begin, range.end);
    to.add(0, shown);
    const KeyRange near = window.around(query);
    to.add(near.begin, near.end);
  }
};

class WindowMask final : public KeyMask {
 public:
  WindowMask(std::string name, WindowShape shape) : name_(std::move(name)), shape_(shape) {}
  std::string name() const override { return name_; }
  void select(Index query, KeyRange range, std::span<const float>,
              std::vector<std::uint32_t>& keys) const override {
    shape_.collect(query, range, keys);
  }

 private:
  std::string name_;
  WindowShape shape_;
};

// A window and the first keys: window and sinks.
class WindowPattern final : public Pattern {
 public:
  WindowPattern(PatternInfo info, WindowShape shape) : info_(std::move(info)), shape_(shape) {}
  const PatternInfo& info() const override { return info_; }
  std::shared_ptr<const KeyMask> mask(const HeadInput& head) const override {
    WindowShape shape = shape_;
    shape.window.causal = head.visibility.is_causal();
    return std::make_shared<WindowMask>(info_.name, shape);
  }

 private:
  PatternInfo info_;
  WindowShape shape_;
};

class BigBirdMask final : public KeyMask {
 public:
  BigBirdMask(WindowShape shape, Index random, std::uint64_t seed, const HeadInput& head)
      : shape_(shape),
        random_(random),
        seed_(seed),
        head_(static_cast<std::uint32_t>(head.layer * 65536 + head.head)),
        document_(head.document) {}
  std::string name() const override { return "bigbird"; }
  void select(Index query, KeyRange range, std::span<const float>,
              std::vector<std::uint32_t>& keys) const override {
    shape_.collect(query, range, keys);
    add_random(query, range, keys);
  }

 private:
  // `random` keys, or as many as there are, of those not yet seen: Fisher and Yates.
  void add_random(Index query, KeyRange range, std::vector<std::uint32_t>& keys) const {
    thread_local std::vector<std::uint32_t> hidden;
    hidden.clear();
    auto seen = keys.begin();
    for (Index j = range.begin; j < range.end; ++j) {
      if (seen != keys.end() && static_cast<Index>(*seen) == j) {
        ++seen;
      } else {
        hidden.push_back(static_cast<std::uint32_t>(j));
      }
    }
    const std::size_t drawn = std::min(hidden.size(), static_cast<std::size_t>(random_));
    const RandomStream random(seed_, RandomDomain::pattern_random, head_,
                              static_cast<std::uint32_t>(query + (Index{document_} << 20)));
    for (std::size_t k = 0; k < drawn; ++k) {
      const double u = random.uniforms(static_cast<std::uint32_t>(k / 2))[k % 2];
      const std::size_t left = hidden.size() - k;
      const auto pick = std::min(static_cast<std::size_t>(u * static_cast<double>(left)), left - 1);
      std::swap(hidden[k], hidden[k + pick]);
    }
    keys.insert(keys.end(), hidden.begin(), hidden.begin() + static_cast<std::ptrdiff_t>(drawn));
    std::ranges::sort(keys);
  }

  WindowShape shape_;
  Index random_;
  std::uint64_t seed_;
  std::uint32_t head_;
  int document_;
};

class BigBird final : public Pattern {
 public:
  BigBird(PatternInfo info, WindowShape shape, Index random, std::uint64_t seed)
      : info_(std::move(info)), shape_(shape), random_(random), seed_(seed) {}
  const PatternInfo& info() const override { return info_; }
  std::shared_ptr<const KeyMask> mask(const HeadInput& head) const override {
    WindowShape shape = shape_;
    shape.window.causal = head.visibility.is_causal();
    return std::make_shared<BigBirdMask>(shape, random_, seed_, head);
  }

 private:
  PatternInfo info_;
  WindowShape shape_;
  Index random_;
  std::uint64_t seed_;
};

std::unique_ptr<Pattern> make_window(const PatternInfo& info, RuleParameters& p) {
  PatternInfo filled = info;
  const double size = p.number("size", 128, kSize), global = p.number("global", 0, kCount);
  filled.parameters = fmt::format("size={},global={}", size, global);
  WindowShape shape;
  shape.window.size = static_cast<Index>(size);
  shape.shown = shape.seeing = static_cast<Index>(global);
  return std::make_unique<WindowPattern>(filled, shape);
}

std::unique_ptr<Pattern> make_sinks(const PatternInfo& info, RuleParameters& p) {
  PatternInfo filled = info;
  const double sinks = p.number("sinks", 4, kCount), window = p.number("window", 124, kSize);
  filled.parameters = fmt::format("sinks={},window={}", sinks, window);
  WindowShape shape;
  shape.window.size = static_cast<Index>(window);
  shape.shown = static_cast<Index>(sinks);
  return std::make_unique<WindowPattern>(filled, shape);
}

std::unique_ptr<Pattern> make_bigbird(const PatternInfo& info, RuleParameters& p) {
  PatternInfo filled = info;
  const double window = p.number("window", 48, kSize), random = p.number("random", 48, kCount);
  const double global = p.number("global", 32, kCount), seed = p.number("seed", 0, kSeed);
  filled.parameters =
      fmt::format("window={},random={},global={},seed={}", window, random, global, seed);
  WindowShape shape;
  shape.window.size = static_cast<Index>(window);
  shape.shown = shape.seeing = static_cast<Index>(global);
  return std::make_unique<BigBird>(filled, shape, static_cast<Index>(random),
                                   static_cast<std::uint64_t>(seed));
}

}  // namespace

std::vector<PatternRule> window_patterns() {
  return {
      {{"window",
        "the last `size` keys (bidirectional: size/2 on either side), and the first `global` "
        "positions, which every query sees and whose queries see every key",
        "size=128,global=0", "Longformer; Beltagy et al. 2020"},
       make_window},
      {{"sinks", "the first `sinks` keys and the last `window` ones", "sinks=4,window=124",
        "StreamingLLM; Xiao et al. 2023"},
       make_sinks},
      {{"bigbird",
        "window and global keys as in `window`, and `random` keys drawn anew for every query from "
        "the others",
        "window=48,random=48,global=32,seed=0", "BigBird; Zaheer et al. 2020"},
       make_bigbird},
  };
}

}  // namespace headgauge
