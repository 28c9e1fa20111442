// Values of options from JSON, as programs give them, and from words, as they are typed.
#include <gtest/gtest.h>

#include <limits>

#include "faults.hpp"
#include "headgauge/options.hpp"
#include "headgauge/scan.hpp"

namespace headgauge {
namespace {

using Json = nlohmann::ordered_json;

std::string misfit(const Option& option, const Json& value) {
  return try_to_set(option, value);
}

TEST(OptionValues, WhatIsRecordedSetsTheSameValue) {
  ScanOptions given;
  given.lengths = {32, 64};
  given.measure.top_share = {0.1, 0.25};
  given.x = XSource::value;
  given.examples = 0;
  given.seed = std::numeric_limits<std::uint64_t>::max();
  given.layers = "0-3,5";
  given.measure.unit_sphere = false;
  ScanOptions taken;
  taken.lengths = {7};
  const auto from = options_of(given), to = options_of(taken);
  for (std::size_t k = 0; k < from.size(); ++k) {
    const Json setting = option_setting(from[k]);
    if (setting.is_null() || !from[k].decides) continue;
    set_option(to[k], Json::parse(setting.dump()));
    EXPECT_EQ(option_setting(to[k]), setting) << from[k].member;
  }
  EXPECT_EQ(taken.lengths, given.lengths);
  EXPECT_EQ(taken.seed, given.seed);
}

TEST(OptionValues, WordsAndNumbersMeanTheSame) {
  std::vector<int> lengths;
  const Option option{.member = "L",
                      .value = &lengths,
                      .form = "L,L...|auto",
                      .group = "",
                      .help = "",
                      .none = "auto"};
  for (const Json& same : {Json("32,64"), Json({32, 64}), Json({32.0, 64.0}), Json({"32", "64"})}) {
    lengths.clear();
    EXPECT_EQ(misfit(option, same), "");
    EXPECT_EQ(lengths, (std::vector{32, 64})) << same;
  }
  EXPECT_EQ(misfit(option, "auto"), "");
  EXPECT_TRUE(lengths.empty());
  EXPECT_EQ(misfit(option, 32), "");
  EXPECT_EQ(lengths, std::vector{32});
  for (const Json& wrong : {Json("32,"), Json(32.5), Json({32, "x"}), Json("3:5:2"), Json(true)}) {
    expect_part(misfit(option, wrong), "expected whole numbers");
  }
  EXPECT_EQ(lengths, std::vector{32}) << "a value that does not fit changes nothing";
}

TEST(OptionValues, RangesAreGeometric) {
  std::vector<int> grid;
  const Option option{
      .member = "G", .value = &grid, .form = "N,N...|FIRST:LAST:COUNT", .group = "", .help = ""};
  EXPECT_EQ(misfit(option, "10:1000:3"), "");
  EXPECT_EQ(grid, (std::vector{10, 100, 1000}));
  for (const char* wrong : {"10:1000", "0:10:2", "1:10:2.5", "1:10:1001", "1:2:3:4", "a:2:3"}) {
    expect_part(misfit(option, wrong), "FIRST:LAST:COUNT");
  }
}

TEST(OptionValues, AListOfSpecsIsSplitBeforeEachName) {
  std::vector<std::string> specs, groups;
  const Option whole{.member = "CompareOptions::normalizers",
                     .value = &specs,
                     .form = "NAME[:KEY=VALUE],...",
                     .group = "",
                     .help = ""};
  const Option list{
      .member = "M", .value = &groups, .form = "GROUP,GROUP...", .group = "", .help = ""};
  set_option(whole, "ssmax:s=0.43,b=0");
  EXPECT_EQ(specs, std::vector<std::string>{"ssmax:s=0.43,b=0"});
  set_option(whole, "sparsemax,ssmax:s=0.43,b=0,softmax");
  const std::vector<std::string> three{"sparsemax", "ssmax:s=0.43,b=0", "softmax"};
  EXPECT_EQ(specs, three);
  set_option(whole, Json{"sparsemax,ssmax:s=0.43,b=0", "softmax"});
  EXPECT_EQ(specs, three) << "two options, one of which is a list";
  set_option(list, "weights,distance");
  EXPECT_EQ(groups, (std::vector<std::string>{"weights", "distance"}));
}

TEST(OptionValues, RefusesWhatIsOutOfRange) {
  int count = 3;
  const Option option{.member = "Some::count",
                      .value = &count,
                      .form = "K",
                      .group = "",
                      .help = "",
                      .least = 1,
                      .most = 9};
  EXPECT_EQ(misfit(option, 9), "");
  for (const Json& wrong : {Json(0), Json(10), Json(2.5), Json("x"), Json(1e300), Json(false)}) {
    expect_part(misfit(option, wrong), "expected a whole number from 1 to 9");
  }
  EXPECT_EQ(count, 9);
  EXPECT_EQ(thrown<UsageError>([&] { set_option(option, 0); }),
            "Some::count: expected a whole number from 1 to 9, found \"0\"");
  double share = 0;
  const Option fraction{
      .member = "S", .value = &share, .form = "S", .group = "", .help = "", .below = 1};
  EXPECT_EQ(misfit(fraction, 0.5), "");
  for (const Json& wrong : {Json(0), Json(1), Json(-1), Json("nan"), Json("inf")}) {
    EXPECT_NE(misfit(fraction, wrong), "") << wrong;
  }
}

}  // namespace
}  // namespace headgauge
