#include "measures/key_moments.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

namespace headgauge {
namespace {

// E Z this small, relative to the terms that it is the sum of, counts as 0: it is the rounding
// error of equal weights.
constexpr double kZeroGap = 1e-12;

// The sums of the products within a set of keys, kept up to date as keys come and go.
class KeySet {
 public:
  explicit KeySet(const Gram& gram) : gram_(&gram), row_sums_(gram.columns()) {}

  // Changes the set to `keys`, ascending, unless more than `most` keys come or go. Returns how many
  // do.
  Index become(std::span<const std::uint32_t> keys, Index most) {
    gone_.clear();
    std::ranges::set_difference(keys_, keys, std::back_inserter(gone_));
    come_.clear();
    std::ranges::set_difference(keys, keys_, std::back_inserter(come_));
    const Index changes = std::ssize(gone_) + std::ssize(come_);
    if (changes > most) return changes;
    for (const std::uint32_t key : gone_) remove(key);
    for (const std::uint32_t key : come_) add(key);
    return changes;
  }

  KeyMoments moments() const {
    const auto n = static_cast<double>(keys_.size());
    KeyMoments moments;
    if (n < 2 || zeros_ > 0) return moments;
    double total = 0;
    for (const std::uint32_t key : keys_) total += row_sums_[key];
    const double k = total / (n * (n - 1));
    moments.keys = n;
    moments.cosine = std::clamp(k, -1.0, 1.0);
    if (n < 3) return moments;
    double sum = 0;  // of (R_j - mean)^2
    for (const std::uint32_t key : keys_) {
      const double above = row_sums_[key] - (n - 1) * k;
      sum += above * above;
    }
    const double squares = sum / ((n - 2) * (n - 2));  // sum of h_j^2
    moments.of_keys = squares / (n - 1);
    moments.of_pairs = std::max((squares_ - 2 * (n - 2) * squares) / (n * (n - 1)) - k * k, 0.0);
    return moments;
  }

 private:
  // Adds `sign` times the products of `key` with the keys of the set, which does not have it.
  double count_products(std::uint32_t key, double sign) {
    const std::uint32_t row = gram_->row_of(key);
    double sum = 0, squares = 0;
    for (const std::uint32_t other : keys_) {
      const double g = gram_->product(row, other);
      row_sums_[other] += sign * g;
      sum += g;
      squares += g * g;
    }
    squares_ += sign * 2 * squares;
    if (gram_->norms()[key] == 0) zeros_ += sign > 0 ? 1 : -1;
    return sum;
  }
  void add(std::uint32_t key) {
    row_sums_[key] = count_products(key, 1);
    keys_.insert(std::ranges::upper_bound(keys_, key), key);
  }
  void remove(std::uint32_t key) {
    keys_.erase(std::ranges::lower_bound(keys_, key));
    count_products(key, -1);
  }

  const Gram* gram_;
  std::vector<std::uint32_t> keys_, gone_, come_;
  std::vector<double> row_sums_;  // R_j = sum over k != j of g_jk, by position
  double squares_ = 0;            // sum over j != k of g_jk^2
  int zeros_ = 0;                 // keys of length 0
};

struct PowerSums {
  double first = 0, second = 0, third = 0, fourth = 0;
  void add(double a, double sign = 1) {
    first += sign * a;
    second += sign * a * a;
    third += sign * a * a * a;
    fourth += sign * a * a * a * a;
  }
};

// The sums of the w_jk of Z_i: all, the squares, and the squared sums of each key's.
struct PairWeights {
  double total = 0, squares = 0, of_keys = 0;
};

// `p` sums the powers of the other members' weights, and b is a' / tau.
PairWeights pair_weights(double a, double b, const PowerSums& p) {
  const double g = 1 - b;
  const double own = g * a * p.first, rest = g * a - b * p.first;
  return {
      .total = -b * (p.first * p.first - p.second) + 2 * own,
      .squares = b * b * (p.second * p.second - p.fourth) + 2 * g * g * a * a * p.second,
      .of_keys = own * own + rest * rest * p.second + 2 * rest * b * p.third + b * b * p.fourth};
}

// Returns the variance of sum w_jk g_jk when the keys are dealt at random.
double variance(const PairWeights& w, const KeyMoments& moments) {
  const double n = moments.keys;
  if (n < 3) return 0;
  double found = 4 * (w.of_keys - w.total * w.total / n) * moments.of_keys;
  if (n > 3) {
    const double shared = w.of_keys - w.squares;
    const double apart = w.total * w.total - 4 * shared - 2 * w.squares;
    found +=
        (2 * w.squares - 4 * shared / (n - 2) + 2 * apart / ((n - 2) * (n - 3))) * moments.of_pairs;
  }
  return std::max(found, 0.0);
}

}  // namespace

std::vector<KeyMoments> key_moments(const Gram& gram, const Visibility& visibility, Index length) {
  std::vector<KeyMoments> moments(length);
  KeySet set(gram);
  std::vector<std::uint32_t> keys;
  Index left = 0;  // changes
  for (Index query = 0; query < length; ++query) {
    const KeyRange range = visibility.range(query, length);
    if (visibility.mask() != nullptr) {
      visibility.mask()->select(query, range, {}, keys);
    } else {
      keys.resize(range.size());
      std::iota(keys.begin(), keys.end(), static_cast<std::uint32_t>(range.begin));
    }
    left += query == 0 ? std::ssize(keys) + kMostChanges : kMostChanges;
    left -= set.become(keys, left);
    if (left < 0) return {};
    moments[query] = set.moments();
  }
  return moments;
}

double dealt_separability_lower(std::span<const float> members, double next,
                                const KeyMoments& moments) {
  PowerSums all;
  for (const float a : members) all.add(a);
  const double k = moments.cosine;
  // tau^2 = E ||s||^2
  const double tau = std::sqrt(std::max(k * all.first * all.first + (1 - k) * all.second, 0.0));
  if (!(tau > 0)) return 0;
  double sum = 0;
  for (const float member : members) {
    const double a = member;
    PowerSums others;
    if (members.size() > 1) {
      others = all;
      others.add(a, -1);
    }
    const PairWeights w = pair_weights(a, next / tau, others);
    const double mean = a * a + next * next - next * (all.second / tau + tau) + w.total * k;
    if (!(mean > kZeroGap * a * all.first)) continue;
    sum += mean * mean / (mean * mean + variance(w, moments));
  }
  return sum / static_cast<double>(members.size());
}

}  // namespace headgauge
