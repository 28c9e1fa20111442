// Patterns of a cache that holds a fixed number of keys and evicts one for every new token, by what
// the keys are or by how much attention they get.

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "headgauge/array.hpp"
#include "heads/pattern_families.hpp"

namespace headgauge {
namespace {

// Key j is held for the queries before gone[j].
class EvictionMask final : public KeyMask {
 public:
  EvictionMask(std::string name, std::vector<Index> gone)
      : name_(std::move(name)), gone_(std::move(gone)) {}
  std::string name() const override { return name_; }
  void select(Index query, KeyRange range, std::span<const float>,
              std::vector<std::uint32_t>& keys) const override {
    keys.clear();
    for (Index j = range.begin; j < range.end; ++j) {
      if (gone_[j] > query) keys.push_back(static_cast<std::uint32_t>(j));
    }
  }

 private:
  std::string name_;
  std::vector<Index> gone_;
};

struct CacheShape {
  Index size = 0;    // keys that a query sees, with its own
  Index recent = 0;  // of these the last, with its own, are never evicted
};

// A cache of one head, token by token. A key stays in its slot until it is evicted. All sums run
// over one dimension after the other, in float64, so that what is evicted does not depend on the
// SIMD level.
class Cache {
 public:
  Cache(const HeadInput& head, CacheShape shape)
      : head_(head),
        shape_(shape),
        slots_(static_cast<std::size_t>(std::min(shape.size, head.keys.rows()))),
        columns_(head.keys.cols(), std::ssize(slots_)),
        worth_(slots_.size()),
        products_(slots_.size()) {}
  virtual ~Cache() = default;
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;

  // Returns for each key the first query that does not see it any more.
  std::vector<Index> run() {
    const Index length = head_.keys.rows();
    std::vector<Index> gone(static_cast<std::size_t>(length), length);
    if (shape_.size >= length) return gone;
    for (Index query = 0; query < length; ++query) {
      // Keys that the model's own window leaves behind.
      const Index begin = head_.visibility.range(query, length).begin;
      for (Index s = held_; s-- > 0;) {
        if (slots_[s] < begin) gone[evict(s)] = query;
      }
      hold(query);
      const bool evicts = held_ == shape_.size && query + 1 < length;
      if (evicts || remembers()) see(query);
      if (evicts) gone[evict(least(query))] = query + 1;
    }
    return gone;
  }

 protected:
  // Called after the key of `query` was put into the last slot in use: updates worth(), from which
  // the key of least worth is evicted; of equal ones the earliest.
  virtual void see(Index query) = 0;
  // Whether worth() depends on the queries before; else see() is called only before an eviction.
  virtual bool remembers() const { return false; }
  virtual void put(Index slot, std::span<const float> key) {
    for (Index d = 0; d < columns_.rows(); ++d)
      columns_(d, slot) = key[static_cast<std::size_t>(d)];
  }
  virtual void remove(Index slot) { static_cast<void>(slot); }

  const HeadInput& head() const { return head_; }
  Index held() const { return held_; }
  Index position(Index slot) const { return slots_[slot]; }
  std::span<double> worth() { return std::span(worth_).first(static_cast<std::size_t>(held_)); }
  double component(Index d, Index slot) const { return columns_(d, slot); }
  // Returns <x, key> of the keys held.
  template <class T>
  std::span<const double> products(std::span<const T> x) {
    const auto out = std::span(products_).first(static_cast<std::size_t>(held_));
    std::ranges::fill(out, 0.0);
    for (std::size_t d = 0; d < x.size(); ++d) {
      const double of_x = x[d];
      const double* column = columns_.row(static_cast<Index>(d)).data();
      for (std::size_t s = 0; s < out.size(); ++s) out[s] += of_x * column[s];
    }
    return out;
  }

 private:
  void hold(Index position) {
    slots_[held_] = position;
    worth_[held_] = 0;
    put(held_, head_.keys.row(position));
    ++held_;
  }

  // Frees a slot, fills it with the last one in use, and returns its position.
  Index evict(Index slot) {
    remove(slot);
    const Index position = slots_[slot], last = --held_;
    slots_[slot] = slots_[last];
    worth_[slot] = worth_[last];
    for (Index d = 0; d < columns_.rows(); ++d) columns_(d, slot) = columns_(d, last);
    return position;
  }

  Index least(Index query) const {
    const Index kept_from = query + 2 - shape_.recent;  // these the next query sees anyway
    Index found = -1;
    for (Index s = 0; s < held_; ++s) {
      if (slots_[s] >= kept_from) continue;
      if (found < 0 || worth_[s] < worth_[found] ||
          (worth_[s] == worth_[found] && slots_[s] < slots_[found])) {
        found = s;
      }
    }
    return found;
  }

  const HeadInput& head_;
  CacheShape shape_;
  std::vector<Index> slots_;  // position of the key in each slot
  Matrix<double> columns_;    // d x slots
  std::vector<double> worth_, products_;
  Index held_ = 0;
};

// KeyDiff: a key is worth more the less its direction is like the mean direction of all.
class DifferentKeys final : public Cache {
 public:
  DifferentKeys(const HeadInput& head, CacheShape shape)
      : Cache(head, shape), sum_(static_cast<std::size_t>(head.keys.cols())) {}

 protected:
  void put(Index slot, std::span<const float> key) override {
    const double norm = std::sqrt(std::transform_reduce(key.begin(), key.end(), 0.0, std::plus<>(),
                                                        [](double x) { return x * x; }));
    unit_.resize(key.size());
    std::ranges::transform(key, unit_.begin(), [norm](float x) {
      return norm > 0 ? static_cast<float>(x / norm) : 0.0f;
    });
    Cache::put(slot, unit_);
    for (std::size_t d = 0; d < sum_.size(); ++d) sum_[d] += unit_[d];
  }
  void remove(Index slot) override {
    for (Index d = 0; d < std::ssize(sum_); ++d) sum_[d] -= component(d, slot);
  }
  void see(Index) override {
    const auto similar = products(std::span<const double>(sum_));
    std::ranges::transform(similar, worth().begin(), std::negate<>());
  }

 private:
  std::vector<double> sum_;  // of the unit keys held
  std::vector<float> unit_;
};

// The weights that the queries give to the keys held: TOVA takes those of the last query, H2O adds
// up all.
class AttendedKeys final : public Cache {
 public:
  AttendedKeys(const HeadInput& head, CacheShape shape, bool adds_up)
      : Cache(head, shape), adds_up_(adds_up) {}

 protected:
  bool remembers() const override { return adds_up_; }
  void see(Index query) override {
    if (!adds_up_) std::ranges::fill(worth(), 0.0);
    if (head().group_queries.empty()) return add(head().queries.row(query), query);
    for (const MatrixView<const float>& queries : head().group_queries) {
      add(queries.row(query), query);
    }
  }

 private:
  void add(std::span<const float> of_query, Index query) {
    const auto dots = products(of_query);
    weights_.resize(dots.size());
    for (Index s = 0; s < held(); ++s) weights_[s] = logit(dots[s], query, position(s));
    const double most = std::ranges::max(weights_);
    double sum = 0;
    for (double& weight : weights_) sum += weight = std::exp(weight - most);
    for (Index s = 0; s < held(); ++s) worth()[s] += weights_[s] / sum;
  }
  double logit(double product, Index query, Index key) const {
    double logit = head().scale * product;
    if (head().softcap > 0) logit = head().softcap * std::tanh(logit / head().softcap);
    if (head().position_bias.empty()) return logit;
    return logit + head().position_bias[std::ssize(head().position_bias) / 2 + key - query];
  }

  bool adds_up_;
  std::vector<double> weights_;
};

enum class Worth { attended, attended_in_sum, different };

class Eviction final : public Pattern {
 public:
  Eviction(PatternInfo info, Worth worth)
      : info_(std::move(info)), shape_(shape_of(info_.parameters)), worth_(worth) {}
  const PatternInfo& info() const override { return info_; }
  std::shared_ptr<const KeyMask> mask(const HeadInput& head) const override {
    refuse_if<UsageError>(head.keys.empty() || (head.queries.empty() && worth_ != Worth::different),
                          "pattern " + info_.name, "queries and keys",
                          "a source that holds scores alone", "give a dump with them");
    refuse_if<UnsupportedError>(!head.visibility.is_causal(), "pattern " + info_.name,
                                "a causal head", "one that sees all keys at once",
                                "choose a pattern that does not follow a cache");
    return std::make_shared<EvictionMask>(info_.name, evictions(head));
  }
  bool same_for_shared_keys() const override { return true; }
  Index cached_keys(Index context) const override { return std::min(context, shape_.size); }

 private:
  static CacheShape shape_of(const Parameters& parameters) {
    const Index keys = parameters.whole("keys");
    const bool given = parameters.is_number("recent");
    return {keys, given ? parameters.whole("recent") : std::max<Index>(1, keys / 2)};
  }

  std::vector<Index> evictions(const HeadInput& head) const {
    if (worth_ == Worth::different) return DifferentKeys(head, shape_).run();
    return AttendedKeys(head, shape_, worth_ == Worth::attended_in_sum).run();
  }

  PatternInfo info_;
  CacheShape shape_;
  Worth worth_;
};

template <Worth worth>
std::unique_ptr<Pattern> make_eviction(const PatternInfo& info) {
  return std::make_unique<Eviction>(info, worth);
}

}  // namespace

PatternMakers eviction_patterns() {
  return {
      {"keydiff", make_eviction<Worth::different>},
      {"tova", make_eviction<Worth::attended>},
      {"h2o", make_eviction<Worth::attended_in_sum>},
  };
}

}  // namespace headgauge
