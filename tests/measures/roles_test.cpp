// The roles group: shares of weight against their definition, on random rows of every kind.
#include "measures/roles.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "headgauge/results.hpp"
#include "measures/row_values.hpp"

namespace headgauge {
namespace {

// A head of `length` positions: random weights over the keys that each query sees.
struct MadeRows {
  std::vector<int> tokens;
  std::vector<Row> rows;
  std::vector<std::vector<float>> weights;
  std::vector<std::vector<std::uint32_t>> positions;
};

enum class Seen { causal, window, all, gaps };

MadeRows make_rows(Index length, int vocabulary, Seen seen, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::exponential_distribution<float> draw;
  MadeRows made;
  for (Index t = 0; t < length; ++t) {
    made.tokens.push_back(static_cast<int>(random() % static_cast<std::uint64_t>(vocabulary)));
  }
  made.weights.resize(length);
  made.positions.resize(length);
  for (Index t = 0; t < length; ++t) {
    Row row;
    row.query = t;
    row.keys = {seen == Seen::window ? std::max(Index{0}, t - 79) : 0,
                seen == Seen::all ? length : t + 1};
    auto& positions = made.positions[t];
    if (seen == Seen::gaps) {
      for (Index j = 0; j < t; ++j) {
        if (random() % 3 != 0) positions.push_back(static_cast<std::uint32_t>(j));
      }
      positions.push_back(static_cast<std::uint32_t>(t));
      row.positions = positions;
    }
    auto& weights = made.weights[t];
    float sum = 0;
    for (Index i = 0; i < row.n(); ++i) sum += weights.emplace_back(draw(random));
    for (float& w : weights) w *= 1.0f / sum;
    row.weights = weights;
    made.rows.push_back(row);
  }
  return made;
}

RowValues observe(const MadeRows& made, RowValues* counts = nullptr, bool with_tokens = true,
                  Index answered = 0) {
  SourceInfo source;
  source.documents = {std::ssize(made.rows)};
  source.answers = {{.tokens = answered}};
  const auto measures = list_of(make_roles_measure(source));
  HeadInput head;
  if (with_tokens) head.tokens = made.tokens;
  ThreadPool pool(1);
  measures.front()->begin_head(head, pool);
  const auto softmax = make_normalizer("softmax");
  return observed(measures, {&head, softmax.get(), made.rows}, counts);
}

// Whether key j of query t is of a role's kind, as docs/mathematics.md 7a says.
bool is_of(const std::string& role, Index t, Index j, const std::vector<int>& tokens) {
  const auto same = [&](Index i) { return i >= 0 && i < t && tokens[i] == tokens[t]; };
  if (role == "previous") return j == t - 1;
  if (role == "near") return std::abs(t - j) < 64;
  if (role == "far") return std::abs(t - j) >= 64;
  if (role == "copies") return same(j);
  return same(j - 1);
}

// Sinks are no far keys, and of the weight beyond them every kind has its share, for which the
// row counts by that weight. Without sinks that is the share of all.
void check_shares(Seen seen, const std::vector<Index>& sinks) {
  MadeRows made = make_rows(200, 23, seen, sinks.empty() ? 7 : 11);
  std::vector<std::vector<std::uint32_t>> of_rows(200);
  for (Index r = 0; r < 200; ++r) {
    Row& row = made.rows[r];
    auto& of_row = of_rows[r];
    for (Index i = 0; i < row.n(); ++i) {
      if (std::ranges::count(sinks, row.key(i)) > 0)
        of_row.push_back(static_cast<std::uint32_t>(i));
    }
    row.sinks = of_row;
  }
  RowValues counts;
  const RowValues values = observe(made, &counts);
  for (Index r = 0; r < 200; ++r) {
    const Row& row = made.rows[r];
    for (std::size_t k = 0; k < kRoles.size(); ++k) {
      double mass = 0, rest = 0, total = 0;
      Index keys = 0, others = 0;
      for (Index i = 0; i < row.n(); ++i) {
        const double weight = row.weights[i];
        total += weight;
        if (std::ranges::count(sinks, row.key(i)) > 0) continue;
        rest += weight;
        ++others;
        if (!is_of(kRoles[k].name, r, row.key(i), made.tokens)) continue;
        mass += weight;
        ++keys;
      }
      const std::string name = kRoles[k].metric;
      const double share = values.at(name)(r, 0), of_all = values.at(kRoles[k].with_sinks)(r, 0);
      const double chance = values.at("role_chance")(r, static_cast<Index>(k));
      if (keys == 0 || keys == others) {
        EXPECT_TRUE(std::isnan(share)) << name << " row " << r;
        EXPECT_TRUE(!sinks.empty() || (std::isnan(of_all) && std::isnan(chance))) << name << r;
        continue;
      }
      EXPECT_NEAR(share, mass / rest, 1e-12) << name << " row " << r;
      EXPECT_NEAR(counts.at(name)(r, 0), rest / total, 1e-12) << name << " row " << r;
      EXPECT_EQ(chance, static_cast<double>(keys) / static_cast<double>(others));
      if (sinks.empty() || kRoles[k].name == std::string("far")) {
        EXPECT_NEAR(of_all, mass / total, 1e-12) << name << " row " << r;
      }
    }
    Index gap = 0;
    for (Index s = r - 1; s >= 0 && gap == 0; --s) {
      if (made.tokens[s] == made.tokens[r]) gap = r - s;
    }
    const Matrix<double>& by_gap = values.at("induction_by_gap");
    ASSERT_EQ(by_gap.cols(), 8) << "up to 199 tokens";
    for (Index c = 0; c < 8; ++c) {
      const double share = values.at("weight_induction")(r, 0);
      if (gap < (1 << c) || gap >= (2 << c) || std::isnan(share)) {
        EXPECT_TRUE(std::isnan(by_gap(r, c))) << r << " " << c;
      } else {
        EXPECT_EQ(by_gap(r, c), share) << r << " " << c;
      }
    }
  }
}

TEST(Roles, AreTheSharesOfTheirKeysBeyondTheSinks) {
  for (const Seen seen : {Seen::causal, Seen::window, Seen::all, Seen::gaps}) {
    check_shares(seen, {});
    check_shares(seen, {0, 41, 150});
  }
}

TEST(Roles, OfACaseAreThoseOfTheRowsThatPredictItsAnswer) {
  const MadeRows made = make_rows(60, 9, Seen::causal, 5);
  const RowValues all = observe(made), of_answer = observe(made, nullptr, true, 7);
  for (const auto& [name, values] : of_answer) {
    for (Index r = 0; r < 60; ++r) {
      const bool predicts = r >= 60 - 8 && r < 60 - 1;
      for (Index c = 0; c < values.cols(); ++c) {
        const double whole = all.at(name)(r, c);
        EXPECT_EQ(std::isnan(values(r, c)), !predicts || std::isnan(whole)) << name << " row " << r;
        if (predicts && !std::isnan(whole)) {
          EXPECT_EQ(values(r, c), whole) << name << " row " << r;
        }
      }
    }
  }
}

TEST(Roles, EvenWeightsHaveTheChance) {
  MadeRows made = make_rows(150, 9, Seen::causal, 5);
  for (auto& weights : made.weights) std::ranges::fill(weights, 1.0f / 64);
  const RowValues values = observe(made);
  for (Index r = 0; r < 150; ++r) {
    for (std::size_t k = 0; k < kRoles.size(); ++k) {
      const double share = values.at(kRoles[k].with_sinks)(r, 0);
      const double chance = values.at("role_chance")(r, static_cast<Index>(k));
      EXPECT_EQ(std::isnan(share), std::isnan(chance));
      if (std::isnan(share)) continue;
      EXPECT_NEAR(share, chance, 1e-12);
    }
  }
}

// a b a a b: row 4 (a) copies keys 1 and 3 and follows at 2 and 4, itself.
TEST(Roles, FollowEarlierCopiesUpToTheQueryItself) {
  MadeRows made = make_rows(5, 1, Seen::causal, 1);
  made.tokens = {0, 1, 0, 0, 1};
  auto& of_a = made.weights[3];
  std::ranges::copy(std::vector<float>{.1f, .2f, .3f, .4f}, of_a.begin());
  const RowValues values = observe(made);
  EXPECT_NEAR(values.at("weight_copies_with_sinks")(3, 0), .4, 1e-7);
  EXPECT_NEAR(values.at("weight_induction_with_sinks")(3, 0), .6, 1e-7);
  EXPECT_TRUE(std::isnan(values.at("weight_copies_with_sinks")(1, 0))) << "the first b";
}

TEST(Roles, AreUndefinedWithoutTokensOrWeight) {
  MadeRows made = make_rows(100, 3, Seen::causal, 2);
  std::ranges::fill(made.weights[90], 0.0f);
  const RowValues bare = observe(made, nullptr, false);
  for (Index r = 0; r < 100; ++r) {
    EXPECT_TRUE(std::isnan(bare.at("weight_copies_with_sinks")(r, 0)));
    EXPECT_TRUE(std::isnan(bare.at("weight_induction_with_sinks")(r, 0)));
  }
  EXPECT_FALSE(std::isnan(bare.at("weight_previous_with_sinks")(89, 0)));
  EXPECT_TRUE(std::isnan(bare.at("weight_previous_with_sinks")(90, 0)));
}

}  // namespace
}  // namespace headgauge
