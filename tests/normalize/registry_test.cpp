#include <gtest/gtest.h>

#include <string>

#include "headgauge/normalize.hpp"

namespace headgauge {
namespace {

// The message of the UsageError that a spec gives.
std::string message(const std::string& spec) {
  try {
    make_normalizer(spec);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Registry, MakesEveryRuleByNameWithItsDefaults) {
  ASSERT_FALSE(normalizers().empty());
  EXPECT_EQ(normalizers().front().name, "softmax");
  for (const NormalizerInfo& info : normalizers()) {
    EXPECT_FALSE(info.formula.empty());
    EXPECT_FALSE(info.source.empty());
    const auto made = make_normalizer(info.name);
    EXPECT_EQ(made->info().name, info.name);
    EXPECT_EQ(made->info().parameters, info.parameters) << "defaults are what the list says";
    // What info() shows can be given back.
    EXPECT_EQ(make_normalizer(info.name + ":" + info.parameters)->info().parameters,
              info.parameters);
  }
}

TEST(Registry, ReadsParameters) {
  EXPECT_EQ(make_normalizer("softmax:t=0.5")->info().parameters, "t=0.5");
  EXPECT_EQ(make_normalizer("softmax:t=0.5")->traits().lipschitz, 1.0);
  EXPECT_EQ(make_normalizer("softmax:t=2e1")->info().parameters, "t=20");
}

TEST(Registry, RefusesWhatItCannotRead) {
  using testing::AssertionResult;
  const auto expect = [](const std::string& spec, const std::string& part) {
    const std::string got = message(spec);
    EXPECT_NE(got.find(part), std::string::npos) << spec << ": " << got;
    EXPECT_EQ(got.find('\n'), std::string::npos) << got;
  };
  expect("", "expected one of softmax, found \"\"");
  expect("softmaxx", "expected one of softmax, found \"softmaxx\"");
  expect("Softmax", "found \"Softmax\"");
  expect("softmax:", "expected name:key=value,..., found \"\"");
  expect("softmax:t", "found \"t\"");
  expect("softmax:t=1,", "found \"\"");
  expect("softmax:,t=1", "found \"\"");
  expect("softmax:s=1", "expected parameters t=1, found \"s\"");
  expect("softmax:=1", "found \"\"");
  expect("softmax:t=1,t=2", "\"t\" twice");
  for (const char* value : {"", "0", "-1", "one", "1x", " 1", "1 ", "nan", "inf", "1e999", "0x1"}) {
    expect("softmax:t=" + std::string(value), "expected a number above 0");
  }
}

}  // namespace
}  // namespace headgauge
