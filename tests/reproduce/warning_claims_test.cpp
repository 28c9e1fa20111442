// Whether falls within the first half of a text forecast its loss: an input for which each claim
// holds, one for which it does not, and one that cannot be decided.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "headgauge/claims.hpp"
#include "reproduce/made_scan.hpp"

namespace headgauge {
namespace {

// What is made of a piece: fall and losses.
struct MadePiece {
  double fall, first, second;
};

Results made_pieces(int count, const std::function<MadePiece(int)>& piece) {
  Results results;
  std::vector<double> numbers;
  for (int k = 0; k < count; ++k) numbers.push_back(k);
  results.set_coord("piece", numbers);
  results.settings["piece_tokens"] = 256;
  LabelledArray& entropy = results.add_metric("entropy_fall", {"piece"}, "1");
  LabelledArray& separability = results.add_metric("separability_fall", {"piece"}, "1");
  LabelledArray& first = results.add_metric("loss_first_half", {"piece"}, "nats");
  LabelledArray& second = results.add_metric("loss_second_half", {"piece"}, "nats");
  for (int k = 0; k < count; ++k) {
    const MadePiece made = piece(k);
    entropy.values[k] = made.fall;
    separability.values[k] = 10 * made.fall;
    first.values[k] = made.first;
    second.values[k] = made.second;
  }
  return results;
}

// Numbers from 0 to 1 in an order that has nothing to do with others.
double scattered(int k, int step) {
  return std::fmod(k * step * 0.6180339887498949, 1);
}

TEST(FallWarns, EveryVerdict) {
  for (const char* name : {"entropy_warns", "falling_separability_warns"}) {
    const auto claim = [&](const Results& results) { return judge_claim(name, results); };
    const bool either = name == std::string_view("entropy_warns");  // a growth warns, too
    const Claim good = claim(made_pieces(40, [](int k) {
      return MadePiece{0.01 * k, 4 + scattered(k, 1), 4 + scattered(k, 1) + 0.02 * k};
    }));
    EXPECT_EQ(good.verdict, holds) << good.measured;
    EXPECT_EQ(fact(good, "pieces"), 40);
    EXPECT_NEAR(fact(good, "rise_median"), 0.39, 1e-12);
    EXPECT_NEAR(fact(good, "rank_correlation"), 1, 1e-12);
    const Claim wrong = claim(made_pieces(40, [](int k) {
      return MadePiece{0.01 * k, 4 + scattered(k, 1), 4 + scattered(k, 1) - 0.02 * k};
    }));
    EXPECT_EQ(wrong.verdict, either ? holds : does_not_hold) << wrong.measured;
    // A fall that has nothing to do with either loss, of many pieces and of few.
    const auto unrelated = [](int k) {
      return MadePiece{scattered(k, 2), 4 + scattered(k, 5), 4 + scattered(k, 7)};
    };
    expect_verdict(claim(made_pieces(200, unrelated)), does_not_hold);
    expect_verdict(claim(made_pieces(16, unrelated)), cannot_tell);
    EXPECT_EQ(claim(made_pieces(15, unrelated)).verdict, not_tested);
    expect_part(claim(Results()).measured, "2048 tokens");
  }
}

// The loss of a hard half comes down by itself. Where sharp heads mean no more than an easy half,
// falls go along with rises, and warn of nothing.
TEST(FallWarns, WhatFallsBackByItselfIsNoWarning) {
  const Claim claim = judge_claim(
      "entropy_warns", made_pieces(200, [](int k) {
        const double ease = scattered(k, 1);
        return MadePiece{ease + 0.5 * scattered(k, 2), 5 - ease, 4.5 + 0.5 * scattered(k, 7)};
      }));
  EXPECT_GT(fact(claim, "rank_correlation_low"), 0.3) << claim.measured;
  EXPECT_EQ(claim.verdict, does_not_hold) << claim.measured;
}

TEST(FallWarns, EachLooksAtItsOwnFall) {
  Results results = made_pieces(40, [](int k) {
    return MadePiece{0.01 * k, 4 + scattered(k, 1), 4 + scattered(k, 1) + 0.02 * k};
  });
  for (double& fall : results.metric("separability_fall")->values) fall = -fall;
  EXPECT_GT(fact(judge_claim("entropy_warns", results), "low"), 0);
  EXPECT_EQ(judge_claim("falling_separability_warns", results).verdict, does_not_hold);
}

// Entropy and separability of 20 heads in the last two octaves.
Claim signs_with(const std::function<double(int)>& growth, const std::function<double(int)>& fall) {
  MadeScan made;
  made.fill(
      "entropy_normalized_with_sinks_by_position", "position",
      [&](int head, double label, double) { return label == 1024 ? 0.5 + growth(head) : 0.5; });
  made.fill("separability_excess_by_position", "position",
            [&](int head, double label, double) { return label == 1024 ? 0.5 - fall(head) : 0.5; });
  return judge_claim("entropy_grows_where_separability_falls", made.results);
}

TEST(EntropyGrowsWhereSeparabilityFalls, EveryVerdict) {
  const auto up = [](int head) { return 0.01 * head; };
  const auto down = [](int head) { return -0.01 * head; };
  const auto shuffled = [](int head) { return 0.01 * ((head * 7) % 20); };
  EXPECT_EQ(signs_with(up, up).verdict, holds);
  EXPECT_EQ(signs_with(up, down).verdict, does_not_hold);
  expect_verdict(signs_with(up, shuffled), cannot_tell);
  expect_verdict(judge_claim("entropy_grows_where_separability_falls", MadeScan(3).results),
                 not_tested);
}

}  // namespace
}  // namespace headgauge
