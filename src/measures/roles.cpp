#include "measures/roles.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "measures/key_ranges.hpp"

namespace headgauge {
namespace {

// Keys of a row, and the absolute weights on them.
struct Held {
  double mass = 0;
  Index keys = 0;
  Held& operator+=(const Held& other) {
    mass += other.mass;
    keys += other.keys;
    return *this;
  }
};

Held keys_between(const Row& row, Index first, Index last) {
  if (first >= last) return {};
  // Four sums, which do not wait for one another.
  double mass[4] = {0, 0, 0, 0};
  Index j = first;
  for (; j + 4 <= last; j += 4) {
    for (Index k = 0; k < 4; ++k) mass[k] += std::abs(row.weights[j + k]);
  }
  for (; j < last; ++j) mass[0] += std::abs(row.weights[j]);
  return {(mass[0] + mass[1]) + (mass[2] + mass[3]), last - first};
}

Held key_at(const Row& row, Index position) {
  const Index j = first_key_from(row, position);
  if (j == row.n() || row.key(j) != position) return {};
  return {std::abs(static_cast<double>(row.weights[j])), 1};
}

class RolesMeasure final : public Measure {
 public:
  void declare(MetricRegistry& metrics) override {
    std::vector<std::string> labels;
    for (const Role& role : kRoles) labels.emplace_back(role.label);
    metrics.coord("role", std::move(labels));
    for (std::size_t r = 0; r < kRoles.size(); ++r) shares_[r] = metrics.add(kRoles[r].metric);
    chance_ = metrics.add("role_chance");
  }

  MeasureNeeds needs() const override { return {.weights = true}; }

  std::size_t bytes(const SourceInfo&, Index longest) const override {
    return static_cast<std::size_t>(longest) * (sizeof(Index) + 64);  // and the places of tokens
  }

  void begin_head(const HeadInput& head, ThreadPool&) override {
    earlier_.assign(head.tokens.size(), -1);
    std::unordered_map<int, Index> last;
    for (Index t = 0; t < std::ssize(head.tokens); ++t) {
      const auto [place, is_new] = last.try_emplace(head.tokens[t], t);
      if (!is_new) earlier_[t] = std::exchange(place->second, t);
    }
  }

  void observe(const RowBlock& block, int, RowSink& sink) override {
    for (Index r = 0; r < block.size(); ++r) observe_row(block.rows[r], r, sink);
  }

 private:
  void observe_row(const Row& row, Index r, RowSink& sink) const {
    const Index n = row.n();
    const Index sinks_end = first_key_from(row, kSinkKeys);
    const Index recent_begin = first_key_from(row, row.query - kRecentKeys + 1);
    const Index recent_end = first_key_from(row, row.query + kRecentKeys);
    const Index rest_begin = std::max(sinks_end, recent_begin);
    const Held sinks = keys_between(row, 0, sinks_end);
    Held distant = keys_between(row, sinks_end, recent_begin);
    distant += keys_between(row, std::max(sinks_end, recent_end), n);
    const Held recent_alone = keys_between(row, rest_begin, recent_end);
    const double mass = sinks.mass + distant.mass + recent_alone.mass;
    if (mass == 0) return;  // no distribution over keys
    Held recent = keys_between(row, recent_begin, std::min(sinks_end, recent_end));
    recent += recent_alone;
    Held duplicate, induction;
    if (!earlier_.empty()) {
      for (Index copy = earlier_[row.query]; copy >= 0; copy = earlier_[copy]) {
        if (copy + 1 < row.keys.begin) break;
        duplicate += key_at(row, copy);
        induction += key_at(row, copy + 1);
      }
    }
    // In the order of kRoles.
    const std::array<Held, kRoles.size()> all = {
        sinks, key_at(row, row.query - 1), recent, distant, duplicate, induction};
    for (std::size_t k = 0; k < all.size(); ++k) {
      // Where no key is of the kind, or every one, the row says nothing of the head.
      if (all[k].keys == 0 || all[k].keys == n) continue;
      sink.set(r, shares_[k], all[k].mass / mass);
      sink.set(r, chance_, static_cast<Index>(k),
               static_cast<double>(all[k].keys) / static_cast<double>(n));
    }
  }

  std::array<MetricHandle, kRoles.size()> shares_;
  MetricHandle chance_;
  std::vector<Index> earlier_;  // where the token stood last before a position; -1: nowhere
};

}  // namespace

std::unique_ptr<Measure> make_roles_measure() {
  return std::make_unique<RolesMeasure>();
}

}  // namespace headgauge
