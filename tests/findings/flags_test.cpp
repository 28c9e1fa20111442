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

void set_whole(Results& r, const std::string& name, double value) {
  r.add_metric(name, {"layer", "head"}, "1").values[0] = value;
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

INSTANTIATE_TEST_SUITE_P(
    All, ScalarFlag,
    ::testing::Values(ScalarCase{"entropy_normalized", .95, .9501, "dispersed"},
                      ScalarCase{"entropy_normalized", .05, .0499, "collapsed"},
                      ScalarCase{"sink_weight", .3, .3001, "sinks"}));

TEST(Flags, OnlyTheLongestLengthCounts) {
  Results r = two_heads();
  r.add_metric("entropy_normalized", {"layer", "head", "length"}, "1").values = {
      .99, .5, .99, .5};
  EXPECT_EQ(names(r), Names{});
}

TEST(Flags, SensitiveAndRedundantHaveNoLength) {
  Results r = two_heads();
  set_whole(r, "sensitivity_top2", .26);
  set_whole(r, "top_overlap", .81);
  set_whole(r, "top_overlap_partner", 7);
  EXPECT_EQ(names(r), (Names{"sensitive", "redundant"}));
  EXPECT_EQ(find_flags(r)[1].partner, 7);
  EXPECT_EQ(find_flags(r)[0].partner, std::nullopt);
}

TEST(Flags, OverSelectedComparesKeysNeededWithKeysVisible) {
  Results r = two_heads();
  set(r, "mass_90", 31.0);
  EXPECT_EQ(names(r), Names{}) << "without the visible keys there is nothing to compare with";
  set(r, "visible_keys", 512.5);  // 31 / 512.5 = .0605
  EXPECT_EQ(names(r), Names{"wide"});
  EXPECT_DOUBLE_EQ(find_flags(r)[0].value, 31.0 / 512.5);
  r.metric("mass_90")->values[1] = 30.0;
  EXPECT_EQ(names(r), Names{});
}

// An excess at N = 20 (index 2) and its standard error, of many batches.
Results with_excess(double excess, double error, double freedom = 1e9) {
  Results r = two_heads();
  LabelledArray& m =
      r.add_metric("separability_excess", {"layer", "head", "length", "top_n"}, "1");
  m.with_standard_errors();
  // Head 4, longest length: flat cells 4..7. What is not N = 20 would raise the flag.
  for (std::size_t cell = 4; cell < 8; ++cell) {
    m.values[cell] = -1.0;
    m.standard_error[cell] = 0.0;
  }
  m.values[6] = excess;
  m.standard_error[6] = error;
  m.degrees_of_freedom[6] = freedom;
  return r;
}

TEST(Flags, SaturatedWhereTheExcessIsShownToBeBelowChance) {
  ASSERT_EQ(names(with_excess(-.0200, .01)), Names{"saturated"});
  EXPECT_EQ(names(with_excess(-.0195, .01)), Names{}) << "0 is not ruled out";
  EXPECT_EQ(names(with_excess(.0100, .002)), Names{}) << "above chance, however little";
  EXPECT_DOUBLE_EQ(find_flags(with_excess(-.05, .02))[0].value, -.05);
  EXPECT_NEAR(find_flags(with_excess(-.05, .02))[0].threshold, -1.959964 * .02, 1e-6);
  // Of five batches the 95 % interval is 2.776 errors wide on either side.
  EXPECT_EQ(names(with_excess(-.05, .018, 4)), Names{"saturated"});
  EXPECT_EQ(names(with_excess(-.05, .0181, 4)), Names{});
}

TEST(Flags, SaturatedNeedsStandardErrors) {
  EXPECT_EQ(names(with_excess(-.1, kUndefined)), Names{});
  Results r = with_excess(-.1, .01);
  r.metric("separability_excess")->standard_error.clear();
  EXPECT_EQ(names(r), Names{});
}

TEST(Flags, SaturatedUsesTheLargestTopNUpTo20ButNever1) {
  Results r = with_excess(.4, .01);                           // not saturated at index 2
  r.set_coord("top_n", std::vector<double>{1, 18, 25, 100});  // index 1 has -1
  EXPECT_EQ(names(r), Names{"saturated"});
  r.set_coord("top_n", std::vector<double>{1, 21, 25, 100});
  EXPECT_EQ(names(r), Names{});
}

TEST(Flags, ADormantHeadIsNotJudgedByTheLittleThatItDoesBeside) {
  Results r = two_heads();
  set(r, "entropy_normalized", .99);
  set(r, "sink_weight", .951);
  EXPECT_EQ(names(r), (Names{"dormant", "sinks"}));
  r.metric("sink_weight")->values[1] = .949;
  EXPECT_EQ(names(r), (Names{"dispersed", "sinks"}));
}

// Shares of head 4 by role, in the order of kRoles, all of them at this chance.
Results with_shares(const std::vector<double>& shares, double chance, std::int64_t rows = 900) {
  Results r = two_heads();
  std::vector<std::string> labels;
  for (const Role& role : kRoles) labels.emplace_back(role.label);
  r.set_coord("role", labels);
  r.add_metric("role_chance", {"layer", "head", "length", "role"}, "1");
  for (std::size_t k = 0; k < kRoles.size(); ++k) {
    if (std::isnan(shares[k])) continue;
    LabelledArray& share = r.add_metric(kRoles[k].metric + std::string("_beyond_sinks"),
                                        {"layer", "head", "length"}, "1");
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
      << "the recent keys hold the previous one";
  EXPECT_EQ(names(with_shares({.3, .8, .1, .1, .1}, 0)), Names{"near"});
  EXPECT_EQ(names(with_shares({.1, .1, .8, .1, .1}, 0)), Names{"far"});
  Results resting = with_shares({.1, .1, .1, .1, .8}, 0);
  set(resting, "sink_weight", .6);
  EXPECT_EQ(names(resting), (Names{"sinks", "induction"}));
  resting.metric("sink_weight")->values[1] = .96;
  EXPECT_EQ(names(resting), (Names{"dormant", "sinks"}));
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

TEST(Flags, EveryFlagIsDeclaredWithAShortNameAndAMeaning) {
  for (const FlagInfo& info : flag_infos()) {
    EXPECT_NE(info.means, "") << info.name;
    EXPECT_NE(info.next.find("`headgauge "), info.next.npos) << info.name;
    EXPECT_LE(info.short_name.size(), 4u) << info.name;
    EXPECT_FALSE(info.meaning.empty());
    EXPECT_FALSE(info.source.empty());
  }
}

}  // namespace
}  // namespace headgauge
