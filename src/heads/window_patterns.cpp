// Patterns built on a local window: sliding window with global keys, attention sinks, BigBird.

#include <algorithm>

#include "base/random.hpp"
#include "heads/pattern_families.hpp"

namespace headgauge {
namespace {

// Every query sees the first `shown` keys; the first `seeing` queries see every key.
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

// Keeps a window and the first keys: sliding window and sinks.
class WindowPattern final : public Pattern {
 public:
  WindowPattern(PatternInfo info, WindowShape shape) : info_(std::move(info)), shape_(shape) {}
  const PatternInfo& info() const override { return info_; }
  std::shared_ptr<const KeyMask> mask(const HeadInput& head) const override {
    WindowShape shape = shape_;
    shape.window.causal = head.visibility.is_causal();
    return std::make_shared<WindowMask>(info_.name, shape);
  }
  Index cached_keys(Index context) const override {
    return std::min(context, shape_.shown + shape_.window.size);
  }
  std::optional<FirstAndLast> first_and_last() const override {
    return FirstAndLast{shape_.shown, shape_.window.size};
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
        head_(head_word(head.layer, head.head)),
        document_(head.document) {}
  std::string name() const override { return "bigbird"; }
  void select(Index query, KeyRange range, std::span<const float>,
              std::vector<std::uint32_t>& keys) const override {
    shape_.collect(query, range, keys);
    add_random(query, range, keys);
  }

 private:
  // Adds `random` keys that are not yet kept, or all if there are fewer, by Fisher and Yates'
  // shuffle.
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
                              row_word(query, document_));
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

std::unique_ptr<Pattern> make_window(const PatternInfo& info) {
  WindowShape shape;
  shape.window.size = info.parameters.whole("size");
  shape.shown = shape.seeing = info.parameters.whole("global");
  return std::make_unique<WindowPattern>(info, shape);
}

std::unique_ptr<Pattern> make_sinks(const PatternInfo& info) {
  WindowShape shape;
  shape.window.size = info.parameters.whole("window");
  shape.shown = info.parameters.whole("sinks");
  return std::make_unique<WindowPattern>(info, shape);
}

std::unique_ptr<Pattern> make_bigbird(const PatternInfo& info) {
  WindowShape shape;
  shape.window.size = info.parameters.whole("window");
  shape.shown = shape.seeing = info.parameters.whole("global");
  return std::make_unique<BigBird>(info, shape, info.parameters.whole("random"),
                                   static_cast<std::uint64_t>(info.parameters.whole("seed")));
}

}  // namespace

PatternMakers window_patterns() {
  return {
      {"window", make_window},
      {"sinks", make_sinks},
      {"bigbird", make_bigbird},
  };
}

}  // namespace headgauge
