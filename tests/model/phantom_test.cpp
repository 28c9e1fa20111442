// A scan of the phantom finds every value that its expected.json says, at three strengths.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "headgauge/headgauge.hpp"
#include "phantom/phantom.hpp"
#include "test_data.hpp"

namespace headgauge {
namespace {

using nlohmann::json;

struct Worst {
  double deviation = 0;
  std::string where;
  int values = 0;
};

// Walks the nested arrays of `expected`, whose numbers stand in the order of the metric's cells.
void compare(const json& expected, const LabelledArray& metric, std::size_t& cell,
             const std::string& where, Worst& worst) {
  if (expected.is_array()) {
    for (std::size_t i = 0; i < expected.size(); ++i) {
      compare(expected[i], metric, cell, where + "[" + std::to_string(i) + "]", worst);
    }
    return;
  }
  const double found = metric.values.at(cell++);
  if (expected.is_null()) return;
  const double value = expected;
  const double deviation = std::abs(found - value) / std::max(1.0, std::abs(value));
  ++worst.values;
  if (!(deviation <= worst.deviation)) {
    worst.deviation = deviation;
    worst.where =
        where + ": found " + std::to_string(found) + ", expected " + std::to_string(value);
  }
}

class Phantom : public ::testing::TestWithParam<double> {};

TEST_P(Phantom, EveryExpectedValueIsFound) {
  const testing::TemporaryFolder folder("phantom-" + std::to_string(GetParam()));
  write_phantom(folder.path(), GetParam());
  std::ifstream file(folder / "expected.json");
  const json expected = json::parse(file);
  int compared = 0;
  for (const json& document : expected["documents"]) {
    const std::string tokens = document["tokens"];
    auto source = make_model_source(resolve_model(folder.path()),
                                    {{tokens, read_token_ids(folder / tokens), ""}}, {});
    ScanOptions options;
    options.lengths = document["lengths"].get<std::vector<int>>();
    options.measure.top_n = document["top_n"].get<std::vector<int>>();
    options.measure.temperatures = {1.0};
    options.threads = 2;
    const Results results = scan(*source, options);
    for (const auto& [name, body] : document["metrics"].items()) {
      const LabelledArray* metric = results.metric(name);
      ASSERT_NE(metric, nullptr) << name;
      EXPECT_EQ(metric->dim_names(), body["dims"].get<std::vector<std::string>>()) << name;
      Worst worst;
      std::size_t cell = 0;
      compare(body["values"], *metric, cell, name, worst);
      EXPECT_EQ(cell, metric->values.size()) << name;
      EXPECT_LE(worst.deviation, 1e-5) << tokens << " " << worst.where;
      compared += worst.values;
    }
  }
  EXPECT_GT(compared, 1000);
}

INSTANTIATE_TEST_SUITE_P(Strengths, Phantom, ::testing::Values(1.0, 4.0, 12.0),
                         [](const auto& tested) {
                           return "strength_" + std::to_string(static_cast<int>(tested.param));
                         });

TEST(PhantomFlags, NameTheHeadsThatWereBuiltIn) {
  const testing::TemporaryFolder folder("phantom-flags");
  write_phantom(folder.path(), 6.0);
  auto source = make_model_source(resolve_model(folder.path()),
                                  {{"tokens", read_token_ids(folder / "tokens.txt"), ""}}, {});
  ScanOptions options;
  options.lengths = {32, 64, 128};
  options.measures = {"weights"};
  const Results results = scan(*source, options);
  const auto flagged = [&](const std::string& name, int head) {
    for (const Flag& flag : results.flags) {
      if (flag.name == name && flag.head == head) return true;
    }
    return false;
  };
  EXPECT_TRUE(flagged("dispersed", 0));
  EXPECT_TRUE(flagged("role_sinks", 1));
  EXPECT_TRUE(flagged("collapsed", 4));
  EXPECT_TRUE(flagged("dispersed", 1)) << "beyond its sink the weights are even";
  EXPECT_FALSE(flagged("dispersed", 2));
  EXPECT_FALSE(flagged("role_sinks", 0));
}

TEST(PhantomFlags, NameTheRolesThatWereBuiltIn) {
  const testing::TemporaryFolder folder("phantom-roles");
  write_phantom(folder.path(), 6.0);
  auto source = make_model_source(resolve_model(folder.path()),
                                  {{"tokens", read_token_ids(folder / "repeated.txt"), ""}}, {});
  ScanOptions options;
  options.lengths = {32, 64, 128};
  options.measures = {"weights", "roles"};
  const Results results = scan(*source, options);
  std::map<int, std::string> roles;
  for (const Flag& flag : results.flags) {
    if (!flag.name.starts_with("role_")) continue;
    EXPECT_TRUE(roles.emplace(flag.head, flag.name).second) << "two roles of head " << flag.head;
    EXPECT_GE(flag.value, flag.threshold);
  }
  EXPECT_EQ(roles, (std::map<int, std::string>{{1, "role_sinks"},
                                               {2, "role_previous"},
                                               {3, "role_duplicate"},
                                               {4, "role_recent"},
                                               {5, "role_induction"},
                                               {6, "role_distant"}}));
}

}  // namespace
}  // namespace headgauge
