// Paper A's claims on sets that grow with the context, for inputs of which they hold, do not hold,
// and cannot be decided.
#include <gtest/gtest.h>

#include <cmath>

#include "headgauge/claims.hpp"
#include "reproduce/made_scan.hpp"

namespace headgauge {
namespace {

using OfHeadAndContext = std::function<double(int, double)>;

// A metric at shares .05 and .1; at .05 it is 1 everywhere.
Results shares_of(const std::string& name, const OfHeadAndContext& value) {
  MadeScan made;
  made.results.set_coord("top_share", std::vector<double>{0.05, 0.1});
  made.add(name, {"position", "top_share"}, [&](int head, std::span<const Index> cell) {
    return cell[3] == 1 ? value(head, mean_keys(made.positions[cell[2]])) : 1;
  });
  return std::move(made.results);
}

Claim margins(const OfHeadAndContext& value) {
  return judge_claim("proportional_margin_collapses",
                     shares_of("margin_at_share_by_position", value));
}

TEST(ProportionalMarginCollapses, EveryVerdict) {
  const Claim falls = margins([](int, double n) { return std::pow(n, -0.5); });
  EXPECT_EQ(falls.verdict, holds);
  EXPECT_NEAR(fact(falls, "median_exponent"), -0.5, 1e-9) << "at a share of 0.1, not 0.05";
  EXPECT_EQ(margins([](int, double) { return 2.0; }).verdict, does_not_hold);
  EXPECT_EQ(margins([](int head, double n) { return head < 6 ? 1 : 1 / n; }).verdict, does_not_hold)
      << "14 of 20";
  const auto noisy = [](int, double n) {
    return std::pow(n, -0.2) * (static_cast<int>(std::log2(n)) % 2 == 1 ? 3 : 1);
  };
  EXPECT_EQ(margins(noisy).verdict, cannot_tell);
}

Claim excesses(const OfHeadAndContext& value) {
  return judge_claim("proportional_separability_falls",
                     shares_of("separability_excess_at_share_by_position", value));
}

TEST(ProportionalSeparabilityFalls, EveryVerdict) {
  // Heads differ; what each changes by is much the same.
  const auto by = [](double change, double scatter) {
    return excesses([=](int head, double n) {
      const double own = change + scatter * (head % 2 == 0 ? 1 : -1);
      return 0.1 * head + (n > 500 ? own : 0);
    });
  };
  EXPECT_EQ(by(-0.1, 0.05).verdict, holds);
  EXPECT_NEAR(fact(by(-0.1, 0.05), "change"), -0.1, 1e-9);
  EXPECT_EQ(by(0.1, 0.05).verdict, does_not_hold);
  EXPECT_EQ(by(0, 0.01).verdict, does_not_hold) << "no fall worth the name";
  EXPECT_EQ(by(-0.02, 0.1).verdict, cannot_tell);
  EXPECT_EQ(by(-0.015, 0.001).verdict, does_not_hold) << "falls, but by next to nothing";
  // The bin from 65 to 128 is too short: a tenth of its rows are a handful of keys.
  const Claim early = excesses([](int, double n) { return n < 128 ? 1.0 : 0.2; });
  EXPECT_NEAR(fact(early, "change"), 0, 1e-12);
  const Claim nothing =
      excesses([](int head, double n) { return -0.1 * head - (n > 500 ? 1 : 0); });
  EXPECT_EQ(nothing.verdict, cannot_tell) << nothing.measured;
  EXPECT_TRUE(nothing.measured.starts_with("There is no excess to lose.")) << nothing.measured;
}

}  // namespace
}  // namespace headgauge
