#include "experiments/prediction.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/random.hpp"
#include "headgauge/ranks.hpp"
#include "statistics/bootstrap.hpp"

namespace headgauge {
namespace {

constexpr std::size_t kFewestHeads = 8;
constexpr double kSameCorrelation = 1e-12;  // tolerance for the order of summation

// Returns centred ranks of norm 1, whose inner product is Spearman's correlation. Empty if all
// values are equal.
std::vector<double> unit_ranks(std::span<const double> values) {
  std::vector<double> ranks = headgauge::ranks(values);
  const double mean =
      std::accumulate(ranks.begin(), ranks.end(), 0.0) / static_cast<double>(ranks.size());
  double square = 0;
  for (double& rank : ranks) {
    rank -= mean;
    square += rank * rank;
  }
  if (square == 0) return {};
  for (double& rank : ranks) rank /= std::sqrt(square);
  return ranks;
}

HeadTable unit_ranks(const HeadTable& table) {
  HeadTable ranks;
  for (const std::vector<double>& row : table) ranks.push_back(unit_ranks(row));
  return ranks;
}

double product(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

bool some_empty(const HeadTable& table) {
  return std::ranges::any_of(table, &std::vector<double>::empty);
}

// Returns the columns `heads`, which may repeat.
HeadTable columns(const HeadTable& table, std::span<const Index> heads) {
  HeadTable chosen(table.size());
  for (std::size_t t = 0; t < table.size(); ++t) {
    for (const Index head : heads) chosen[t].push_back(table[t][head]);
  }
  return chosen;
}

double mean_correlation(const HeadTable& x, const HeadTable& y) {
  double sum = 0;
  for (std::size_t t = 0; t < x.size(); ++t) sum += product(x[t], y[t]);
  return sum / static_cast<double>(x.size());
}

// The order of the heads, shuffled again and again within groups of neighbours.
class Shuffled {
 public:
  // The groups are the heads with one layer of `layers`; all heads are one group if it is empty.
  Shuffled(std::span<const Index> heads, std::span<const Index> layers) : order_(heads.size()) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    for (std::size_t i = 1; i < heads.size() && !layers.empty(); ++i) {
      if (layers[heads[i]] != layers[heads[i - 1]]) ends_.push_back(i);
    }
    ends_.push_back(heads.size());
  }

  // Returns the values less the means of their groups.
  std::vector<double> within(std::vector<double> values) const {
    auto begin = values.begin();
    for (const std::size_t last : ends_) {
      const auto end = values.begin() + static_cast<Index>(last);
      const double mean = std::accumulate(begin, end, 0.0) / static_cast<double>(end - begin);
      for (; begin != end; ++begin) *begin -= mean;
    }
    return values;
  }

  // Shuffles each group as Fisher and Yates do.
  const std::vector<std::size_t>& next(const RandomStream& random) {
    std::array<std::uint32_t, 4> words{};
    std::uint32_t drawn = 0;
    std::size_t begin = 0;
    for (const std::size_t end : ends_) {
      for (std::size_t i = end - begin; i > 1; --i, ++drawn) {
        if (drawn % 4 == 0) words = random.block(drawn / 4);
        const std::size_t other = (std::uint64_t{words[drawn % 4]} * i) >> 32;
        std::swap(order_[begin + i - 1], order_[begin + other]);
      }
      begin = end;
    }
    return order_;
  }

 private:
  std::vector<std::size_t> order_, ends_;
};

// Returns the heads in which everything is defined.
std::vector<Index> known_heads(const HeadTable& predictor, const HeadTable& outcome) {
  std::vector<Index> heads;
  for (Index head = 0; head < std::ssize(predictor.front()); ++head) {
    const auto known = [&](const std::vector<double>& row) { return !std::isnan(row[head]); };
    if (std::ranges::all_of(predictor, known) && std::ranges::all_of(outcome, known)) {
      heads.push_back(head);
    }
  }
  return heads;
}

// Returns the part of the correlation within the groups, and the share of permutations, including
// the identity, whose part is at least as large. What lies between the groups never changes.
std::pair<double, double> permutation_p(const HeadTable& ranks, const HeadTable& y,
                                        const PredictionOptions& plan, std::uint32_t pair,
                                        Shuffled shuffled) {
  HeadTable x;
  for (const std::vector<double>& row : ranks) x.push_back(shuffled.within(row));
  const double correlation = mean_correlation(x, y);
  int as_large = 1;
  for (int draw = 0; draw < plan.permutations; ++draw) {
    const auto& order = shuffled.next(RandomStream(plan.seed, RandomDomain::permuted_heads, pair,
                                                   static_cast<std::uint32_t>(draw)));
    double sum = 0;
    for (std::size_t t = 0; t < x.size(); ++t) {
      for (std::size_t i = 0; i < order.size(); ++i) sum += x[t][i] * y[t][order[i]];
    }
    const double permuted = sum / static_cast<double>(x.size());
    if (std::abs(permuted) >= std::abs(correlation) - kSameCorrelation) ++as_large;
  }
  return {correlation, as_large / static_cast<double>(plan.permutations + 1)};
}

}  // namespace

HeadTable other_texts(const HeadTable& table) {
  if (table.size() < 2) return table;
  HeadTable others(table.size(), std::vector<double>(table.front().size(), 0.0));
  for (std::size_t t = 0; t < table.size(); ++t) {
    for (std::size_t u = 0; u < table.size(); ++u) {
      if (u == t) continue;
      for (std::size_t head = 0; head < table[u].size(); ++head) {
        others[t][head] += table[u][head] / static_cast<double>(table.size() - 1);
      }
    }
  }
  return others;
}

Prediction predict(const HeadTable& predictor, const HeadTable& outcome,
                   const PredictionOptions& plan, std::uint32_t pair) {
  Prediction found;
  found.by_text.assign(predictor.size(), kUndefined);
  const std::vector<Index> heads = known_heads(predictor, outcome);
  found.heads = static_cast<int>(heads.size());
  if (heads.size() < kFewestHeads) return found;
  const HeadTable x = columns(predictor, heads), y = other_texts(columns(outcome, heads));
  const HeadTable a = unit_ranks(x), b = unit_ranks(y);
  if (some_empty(a) || some_empty(b)) return found;
  for (std::size_t t = 0; t < a.size(); ++t) found.by_text[t] = product(a[t], b[t]);
  found.correlation = mean_correlation(a, b);
  std::tie(found.within, found.p) = permutation_p(a, b, plan, pair, {heads, plan.layers});
  found.p_of_any =
      plan.layers.empty() ? found.p : permutation_p(a, b, plan, pair, {heads, {}}).second;
  const auto resampled = [&](std::span<const Index> drawn) {
    const HeadTable p = unit_ranks(columns(x, drawn)), q = unit_ranks(columns(y, drawn));
    return some_empty(p) || some_empty(q) ? kUndefined : mean_correlation(p, q);
  };
  found.interval = bootstrap_interval(std::ssize(heads), resampled,
                                      {.resamples = plan.resamples,
                                       .kind = BootstrapKind::percentile,
                                       .seed = plan.seed,
                                       .stream = pair});
  return found;
}

double replication(const HeadTable& outcome) {
  double sum = 0;
  int pairs = 0;
  for (std::size_t t = 0; t < outcome.size(); ++t) {
    for (std::size_t u = 0; u < t; ++u) {
      std::vector<double> a, b;
      for (std::size_t head = 0; head < outcome[t].size(); ++head) {
        if (std::isnan(outcome[t][head]) || std::isnan(outcome[u][head])) continue;
        a.push_back(outcome[t][head]);
        b.push_back(outcome[u][head]);
      }
      if (a.size() < kFewestHeads) continue;
      const std::vector<double> x = unit_ranks(a), y = unit_ranks(b);
      if (x.empty() || y.empty()) continue;
      sum += product(x, y);
      ++pairs;
    }
  }
  return pairs > 0 ? sum / pairs : kUndefined;
}

}  // namespace headgauge
