// Options that are declared once: what they are called, and what becomes of them.
#include "headgauge/options.hpp"

#include <gtest/gtest.h>

#include <set>

#include "headgauge/compare.hpp"
#include "headgauge/converge.hpp"
#include "headgauge/model.hpp"
#include "headgauge/synthetic.hpp"
#include "small_models.hpp"

namespace headgauge {
namespace {

template <class Options>
std::vector<std::string> keys() {
  Options options;
  std::vector<std::string> keys;
  for (const Option& option : options_of(options)) keys.push_back(option.key());
  return keys;
}

TEST(Options, NamesAndKeysComeFromTheMember) {
  ScanOptions scan;
  std::vector<Option> options = options_of(scan);
  Option& top_n = find_option(options, "top-n");
  EXPECT_EQ(top_n.member, "MeasureOptions::top_n");
  EXPECT_EQ(top_n.key(), "top_n");
  EXPECT_THROW(find_option(options, "top_n"), std::logic_error);
  CompareOptions compare;
  options = options_of(compare);
  EXPECT_EQ(find_option(options, "pattern").member, "CompareOptions::patterns");
}

TEST(Options, EveryOneHasAnotherName) {
  for (const auto& list : {keys<ScanOptions>(), keys<CompareOptions>(), keys<ConvergeOptions>(),
                           keys<SyntheticOptions>()}) {
    EXPECT_EQ(std::set<std::string>(list.begin(), list.end()).size(), list.size());
  }
}

TEST(Options, ValuesAsSettingsAndAsText) {
  ScanOptions scan;
  std::vector<Option> options = options_of(scan);
  const auto setting = [&](const char* name) { return option_setting(find_option(options, name)); };
  const auto text = [&](const char* name) { return option_text(find_option(options, name)); };
  EXPECT_EQ(setting("layers"), "all");
  EXPECT_EQ(setting("queries"), nullptr);
  EXPECT_EQ(text("epsilons"), "0.001,0.1,10");
  EXPECT_EQ(text("unit-sphere"), "true");
  scan.queries = 0;
  scan.x = XSource::value;
  scan.layers = "0-1";
  scan.seed = 18446744073709551615u;
  EXPECT_EQ(setting("queries"), "all");
  EXPECT_EQ(setting("x"), "value");
  EXPECT_EQ(setting("layers"), "0-1");
  EXPECT_EQ(text("seed"), "18446744073709551615");
}

// What is declared is what is recorded, as it was used.
TEST(Options, TheSettingsOfAScanAreItsOptions) {
  const auto source = testing::open_model({{"ids", std::vector<int>(40, 1), ""}});
  ScanOptions options;
  options.measures = {"weights"};
  options.measure.critical_max = 7;
  const Results results = scan(*source, options);
  std::vector<std::string> settings;
  for (const auto& [key, value] : results.settings.items()) settings.push_back(key);
  EXPECT_EQ(settings, keys<ScanOptions>());
  EXPECT_EQ(results.settings["critical_max"], 7);
  EXPECT_EQ(results.settings["lengths"], (std::vector<int>{32, 40}));
  EXPECT_EQ(results.settings["queries"], "all");
  EXPECT_EQ(results.settings["temperatures"].size(), 31u);
}

}  // namespace
}  // namespace headgauge
