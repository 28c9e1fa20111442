#include "headgauge/flags.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "headgauge/catalogue.hpp"
#include "measures/roles.hpp"

namespace headgauge {
namespace {

// One layer numbered 3 with heads 4 and 7, two lengths, N = 1, 5, 20, 100.
Results two_heads() {
  Results r;
  r.set_coord("layer", std::vector<double>{3});
  r.set_coord("head", std::vector<double>{4, 7});
  r.set_coord("length", std::vector<double>{64, 1024});
  r.set_coord("top_n", std::vector<double>{1, 5, 20, 100});
  return r;
}

// Sets a scalar metric of head 4 at the longest length; head 7 and the shorter length stay
// undefined.
void set(Results& r, const std::string& name, double value) {
  r.add_metric(name, {"layer", "head", "length"}, "1").values[1] = value;
}

std::vector<std::string> names(const Results& r) {
  std::vector<std::string> list;
  for (const Flag& flag : find_flags(r)) list.push_back(flag.name);
  return list;
}

using Names = std::vector<std::string>;

TEST(Flags, NoMetricsNoFlags) {
  EXPECT_EQ(names(two_heads()), Names{});
  EXPECT_EQ(names(Results{}), Names{});
}

struct ScalarCase {
  const char* metric;
  double quiet;   // exactly on the threshold
  double raised;  // just beyond
  const char* flag;
};

class ScalarFlag : public ::testing::TestWithParam<ScalarCase> {};

TEST_P(ScalarFlag, IsRaisedBeyondItsThresholdOnly) {
  const auto& c = GetParam();
  Results quiet = two_heads();
  set(quiet, c.metric, c.quiet);
  EXPECT_EQ(names(quiet), Names{});
  Results raised = two_heads();
  set(raised, c.metric, c.raised);
  ASSERT_EQ(names(raised), Names{c.flag});
  const Flag flag = find_flags(raised)[0];
  EXPECT_EQ(flag.layer, 3);
  EXPECT_EQ(flag.head, 4);
  EXPECT_EQ(flag.length, 1024);
  EXPECT_EQ(flag.value, c.raised);
  EXPECT_EQ(flag.threshold, c.quiet);
  EXPECT_FALSE(flag.source.empty());
  EXPECT_EQ(flag.advice, "") << "what is not tried is not advised";
}

INSTANTIATE_TEST_SUITE_P(All, ScalarFlag,
                         ::testing::Values(ScalarCase{"rate_predicted", .1, .0999, "slow"},
                                           ScalarCase{"sink_weight", .3, .3001, "sinks"}));

TEST(Flags, OnlyTheLongestLengthCounts) {
  Results r = two_heads();
  r.add_metric("sink_weight", {"layer", "head", "length"}, "1").values = {.9, .1, .9, .1};
  EXPECT_EQ(names(r), Names{});
}

TEST(Flags, WideComparesKeysNeededWithKeysVisible) {
  Results r = two_heads();
  set(r, "mass_90", 31.0);
  EXPECT_EQ(names(r), Names{}) << "without the visible keys there is nothing to compare with";
  set(r, "visible_keys", 512.5);  // 31 / 512.5 = .0605
  EXPECT_EQ(names(r), Names{"wide"});
  EXPECT_DOUBLE_EQ(find_flags(r)[0].value, 31.0 / 512.5);
  r.metric("mass_90")->values[1] = 30.0;
  EXPECT_EQ(names(r), Names{});
}

TEST(Excess, IsWorseThanChanceIfItsIntervalEndsBelow0) {
  const auto worse = [](double excess, double error, double freedom = 1e9) {
    MetricCell cell;
    cell.value = excess;
    cell.standard_error = error;
    cell.degrees_of_freedom = freedom;
    return no_better_than_chance(cell);
  };
  EXPECT_TRUE(worse(-.0200, .01));
  EXPECT_FALSE(worse(-.0195, .01)) << "0 is not ruled out";
  EXPECT_FALSE(worse(.0100, .002)) << "above chance, however little";
  // Of five batches the 95 % interval is 2.776 errors wide on either side.
  EXPECT_TRUE(worse(-.05, .018, 4));
  EXPECT_FALSE(worse(-.05, .0181, 4));
  EXPECT_FALSE(worse(-.1, kUndefined)) << "without an error nothing is judged";
}

TEST(Flags, ADormantHeadIsNotJudgedByTheLittleThatItDoesBeside) {
  Results r = two_heads();
  set(r, "mass_90", 300);
  set(r, "visible_keys", 512.5);
  set(r, "sink_weight", .951);
  EXPECT_EQ(names(r), (Names{"sinks", "dormant"}));
  r.metric("sink_weight")->values[1] = .949;
  EXPECT_EQ(names(r), (Names{"wide", "sinks"}));
}

// Shares of head 4 by role, in the order of kRoles, all of them at this chance.
Results with_shares(const std::vector<double>& shares, double chance, std::int64_t rows = 900) {
  Results r = two_heads();
  std::vector<std::string> labels;
  for (const Role& role : kRoles) labels.emplace_back(role.name);
  r.set_coord("role", labels);
  r.add_metric("role_chance", {"layer", "head", "length", "role"}, "1");
  for (std::size_t k = 0; k < kRoles.size(); ++k) {
    if (std::isnan(shares[k])) continue;
    LabelledArray& share = r.add_metric(kRoles[k].metric, {"layer", "head", "length"}, "1");
    share.with_rows();
    share.values[1] = shares[k];
    share.rows[1] = rows;
    r.metric("role_chance")->values[kRoles.size() + k] = chance;
  }
  return r;
}

TEST(Flags, ARoleIsAShareFarBeyondChance) {
  // chance + 0.4 (1 - chance) = 0.55 at a chance of a quarter.
  EXPECT_EQ(names(with_shares({.56, .25, .25, .25, .25}, .25)), Names{"previous"});
  EXPECT_EQ(names(with_shares({.54, .25, .25, .25, .25}, .25)), Names{});
  const Flag flag = find_flags(with_shares({.1, .1, .1, .1, .7}, .25))[0];
  EXPECT_EQ(flag.name, "induction");
  EXPECT_DOUBLE_EQ(flag.value, .7);
  EXPECT_DOUBLE_EQ(flag.threshold, .55);
  EXPECT_EQ(names(with_shares({.9, .9, .9, .9, .9}, .9)), Names{}) << "even weights";
}

TEST(Flags, AHeadMayHaveSeveralRoles) {
  EXPECT_EQ(names(with_shares({.45, .9, .1, .7, .6}, 0)),
            (Names{"previous", "copies", "induction"}));
  EXPECT_EQ(names(with_shares({.41, .99, .1, .1, .1}, 0)), Names{"previous"})
      << "the near keys hold the previous one";
  EXPECT_EQ(names(with_shares({.3, .8, .1, .1, .1}, 0)), Names{"near"});
  EXPECT_EQ(names(with_shares({.1, .1, .8, .1, .1}, 0)), Names{"far"});
  Results resting = with_shares({.1, .1, .1, .1, .8}, 0);
  set(resting, "sink_weight", .6);
  EXPECT_EQ(names(resting), (Names{"sinks", "induction"}));
  resting.metric("sink_weight")->values[1] = .96;
  EXPECT_EQ(names(resting), (Names{"sinks", "dormant"}));
}

TEST(Flags, ARoleNeedsEnoughRows) {
  const std::vector<double> shares = {.1, .1, .1, .1, .9};
  EXPECT_EQ(names(with_shares(shares, 0, 32)), Names{"induction"});
  EXPECT_EQ(names(with_shares(shares, 0, 31)), Names{});
  const double none = kUndefined;
  EXPECT_EQ(names(with_shares({.1, .1, .1, none, none}, 0)), Names{});
}

TEST(Flags, EveryFlagIsJudgedByAMetricOfTheCatalogue) {
  std::set<std::string> flags = {"candidate", "recommended"};  // of compare --each head
  for (const FlagInfo& info : flag_infos()) flags.insert(info.name);
  std::set<std::string> judged;
  for (const MetricInfo& metric : all_metrics()) {
    judged.insert(metric.flags.begin(), metric.flags.end());
  }
  EXPECT_EQ(judged, flags);
}

TEST(Flags, EveryFlagIsDeclaredWithAMeaningAndACommand) {
  for (const FlagInfo& info : flag_infos()) {
    EXPECT_NE(info.means, "") << info.name;
    EXPECT_NE(info.next.find("`headgauge "), info.next.npos) << info.name;
    EXPECT_FALSE(info.meaning.empty());
    EXPECT_FALSE(info.source.empty());
  }
}

}  // namespace
}  // namespace headgauge
