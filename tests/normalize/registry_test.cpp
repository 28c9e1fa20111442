#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <string>

#include "faults.hpp"
#include "headgauge/normalize.hpp"

namespace headgauge {
namespace {

// The message of the UsageError that a spec gives.
std::string message(const std::string& spec) {
  return thrown<UsageError>([&] { make_normalizer(spec); });
}

TEST(Registry, MakesEveryNormalizerByNameWithItsDefaults) {
  ASSERT_FALSE(normalizers().empty());
  EXPECT_EQ(normalizers().front().name, "softmax");
  for (const NormalizerInfo& info : normalizers()) {
    EXPECT_FALSE(info.formula.empty());
    EXPECT_FALSE(info.source.empty());
    const auto made = make_normalizer(info.name);
    EXPECT_EQ(made->info().name, info.name);
    const std::string text = info.parameters.text();
    EXPECT_EQ(made->info().parameters.text(), text) << "defaults are what the list says";
    // What info() shows can be given back.
    if (info.parameters.empty()) continue;
    EXPECT_EQ(make_normalizer(info.name + ":" + text)->info().parameters.text(), text);
  }
}

TEST(Registry, ReadsParameters) {
  EXPECT_EQ(make_normalizer("softmax:t=0.5")->info().parameters.text(), "t=0.5");
  EXPECT_EQ(make_normalizer("softmax:t=0.5")->traits().lipschitz, 1.0);
  EXPECT_EQ(make_normalizer("softmax:t=2e1")->info().parameters.text(), "t=20");
}

TEST(Registry, AnotherValueOfOneParameterMakesAnotherNormalizer) {
  NormalizerInfo info = make_normalizer("ssmax:b=0.5")->info();
  EXPECT_TRUE(info.parameters.given("b"));
  EXPECT_FALSE(info.parameters.given("s"));
  ASSERT_TRUE(info.parameters.set("s", 0.25));
  EXPECT_EQ(info.parameters.text(), "s=0.25,b=0.5");
  EXPECT_EQ(make_normalizer(info)->softmax_scale({1, 0}), 0.5);
  EXPECT_DOUBLE_EQ(make_normalizer(info)->softmax_scale({100, 0}).value(),
                   0.25 * std::log(100.0) + 0.5);
  EXPECT_FALSE(info.parameters.set("s", -1.0));
  EXPECT_EQ(info.parameters.number("s"), 0.25);
  EXPECT_THROW(info.parameters.number("t"), std::out_of_range);
  EXPECT_EQ(parse_normalizer("ssmax:s=1").parameters.text(), "s=1,b=0");
}

TEST(Registry, ParametersThatTakeWordsShowThem) {
  EXPECT_EQ(parse_normalizer("sigmoid").parameters.text(), "b=-logn");
  EXPECT_EQ(parse_normalizer("sigmoid:b=-2").parameters.text(), "b=-2");
  EXPECT_EQ(parse_normalizer("sigmoid").parameters.declared()[0].takes(), "a number or -logn");
}

TEST(Registry, RefusesWhatItCannotRead) {
  using ::testing::AssertionResult;
  const auto expect = [](const std::string& spec, const std::string& part) {
    SCOPED_TRACE(spec);
    expect_part(message(spec), part);
  };
  expect("", "found \"\"; `headgauge list normalizers` lists them");
  expect("softmaxx", "a normalizer such as softmax, softmax1, softcap, found \"softmaxx\"");
  expect("entmx", "a normalizer such as entmax");
  expect("sparse", "a normalizer such as sparsemax");
  expect("sasoft", "a normalizer such as sasoftmax");
  expect("Softmax", "found \"Softmax\"");
  expect("softmax:", "expected name:key=value,..., found \"\"");
  expect("softmax:t", "found \"t\"");
  expect("softmax:t=1,", "found \"\"");
  expect("softmax:,t=1", "found \"\"");
  expect("softmax:s=1", "expected parameters t=1, found \"s\"");
  expect("softmax:=1", "found \"\"");
  expect("softmax:2", "expected name:key=value,..., found \"2\"; write softmax:t=2");
  expect("topk=16", "write topk:k=16");
  expect("softmax:t=1,t=2", "\"t\" twice");
  for (const char* value : {"", "0", "-1", "one", "1x", " 1", "1 ", "nan", "inf", "1e999", "0x1"}) {
    expect("softmax:t=" + std::string(value), "expected a number above 0");
  }
  expect("logn:x=1", "expected no parameters, found \"x\"");
  expect("entmax:alpha=1", "parameter alpha: expected a number above 1 up to 4, found \"1\"");
  expect("entmax:alpha=4.1", "up to 4");
  expect("topk:k=0", "expected a whole number of at least 1 up to");
  expect("topk:k=2.5", "whole number");
  expect("asentmax:gamma=3", "a number of at least -2 up to 2");
  expect("sigmoid:b=logn", "a number");
}

}  // namespace
}  // namespace headgauge
