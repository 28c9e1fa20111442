// A scan of the phantom finds the heads that were built in.
#include <gtest/gtest.h>

#include <map>

#include "headgauge/headgauge.hpp"
#include "phantom/phantom.hpp"
#include "test_data.hpp"

namespace headgauge {
namespace {

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
  const auto entropy = [&](Index head) {
    return results.at("entropy_normalized", {0, head, 2});
  };
  EXPECT_GT(entropy(0), .95);
  EXPECT_LT(entropy(4), .05);
  EXPECT_GT(entropy(1), .95) << "beyond its sink the weights are even";
  EXPECT_LT(entropy(2), .95);
  EXPECT_TRUE(flagged("sinks", 1));
  EXPECT_FALSE(flagged("sinks", 0));
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
    if (!flag_info(flag.name).role || flag.name == "dormant") continue;
    EXPECT_TRUE(roles.emplace(flag.head, flag.name).second) << "two roles of head " << flag.head;
    EXPECT_GE(flag.value, flag.threshold);
  }
  EXPECT_EQ(roles, (std::map<int, std::string>{{1, "sinks"},
                                               {2, "previous"},
                                               {3, "copies"},
                                               {4, "near"},
                                               {5, "induction"},
                                               {6, "far"}}));
}

}  // namespace
}  // namespace headgauge
