#include "scan/summary.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <regex>

#include "scan/scanned_results.hpp"

namespace headgauge {
namespace {

using Json = nlohmann::ordered_json;

// Every number in a line as it stands there, head names left out.
std::vector<std::string> numbers_in(const SummaryLine& line) {
  std::string text = line.text;
  for (const std::string& head : line.heads) {
    const std::string name = "head " + head;
    const std::size_t at = text.find(name);
    EXPECT_NE(at, std::string::npos) << name;
    if (at != std::string::npos) text.replace(at, name.size(), "head");
  }
  const std::regex number("[0-9]+(\\.[0-9]+)?");
  std::vector<std::string> list;
  for (std::sregex_iterator it(text.begin(), text.end(), number), end; it != end; ++it) {
    list.push_back(it->str());
  }
  return list;
}

// The value of a fact, looked up in the file's own JSON.
double value_in(const Json& file, const Fact& fact) {
  const std::string& name = fact.metric;
  if (name == "rule") return fact.value;
  if (name == "heads") return file["coords"]["layer"].size() * file["coords"]["head"].size();
  if (name == "limit") {
    const int longest = file["coords"]["length"].back();
    int n = 0;
    while ((n + 1) * 100 < 6 * longest) ++n;  // the largest N below 6 % of L
    return n;
  }
  const std::size_t dot = name.find('.');
  if (dot != std::string::npos) {
    const std::string part = name.substr(0, dot), key = name.substr(dot + 1);
    if (part == "coords") return file["coords"][key][static_cast<std::size_t>(fact.cell.at(0))];
    if (part == "settings") return file["settings"][key];
    if (part == "heads") {
      int count = 0;
      for (const Json& layer : file["metrics"][key]["values"]) {
        for (const Json& head : layer) count += !head.back().is_null() && head.back() >= 1;
      }
      return count;
    }
    if (part == "flags") {
      return static_cast<double>(
          std::count_if(file["flags"].begin(), file["flags"].end(),
                        [&](const Json& flag) { return flag["name"] == key; }));
    }
  }
  const Json* cell = &file["metrics"][name]["values"];
  for (const Index i : fact.cell) cell = &cell->at(static_cast<std::size_t>(i));
  return cell->get<double>();
}

// How many units of its last digit a text is off.
double digits_off(const std::string& text, double value) {
  const std::size_t dot = text.find('.');
  const auto decimals = dot == std::string::npos ? 0 : text.size() - dot - 1;
  return std::abs(std::stod(text) - value) * std::pow(10.0, static_cast<double>(decimals));
}

void expect_every_number_is_in_the_results(const Results& results) {
  const Json file = to_json(results);
  for (const SummaryLine& line : summary_lines(results)) {
    SCOPED_TRACE(line.text);
    std::vector<std::string> texts;
    for (const Fact& fact : line.facts) {
      texts.push_back(fact.text);
      EXPECT_EQ(fact.value, value_in(file, fact)) << fact.metric;
      EXPECT_LE(digits_off(fact.text, fact.value * fact.scale), .5 + 1e-9) << fact.metric;
    }
    EXPECT_EQ(numbers_in(line), texts) << "a number without a fact, or in another order";
    EXPECT_GE(line.facts.size(), 1u);
    EXPECT_GE(line.heads.size(), 1u);
    const bool names_length =
        std::any_of(line.facts.begin(), line.facts.end(), [&](const Fact& fact) {
          return fact.metric == "coords.length" &&
                 fact.cell == std::vector<Index>{results.coord_size("length") - 1};
        });
    EXPECT_TRUE(names_length);
  }
}

// clang-format off
TEST(Summary, FiveLinesInPlainWords) {
  const std::vector<std::string> expected{
      "At L = 1024, 1 of 6 heads averages instead of selecting (entropy above 0.95 of its maximum);"
      " the flattest is head 0.0 (1.00), the sharpest head 1.1 (0.00).",
      "At L = 1024, head 0.1 rests on the first token (0.71 of its weight), head 1.1 looks at"
      " itself (0.10 back), head 0.2 looks at the previous token (1.04 back), head 1.0"
      " selects from furthest away (232 back).",
      "At L = 1024, tested over all heads, the top 11 keys (1.07 %) carry the context vector"
      " (critical N, reading \"context\"); one by one 4 of 6 heads get there by N = 128, first"
      " head 0.2 (1).",
      "At N = 20 of L = 1024, 2 of 6 heads tell their keys apart no better than random vectors;"
      " against these head 1.0 (0.98 against 0.47) does best, head 0.0 (0.21 against 0.44) worst.",
      "At L = 1024, keep at most 61 keys (N below 6 %) per query, but more for head 0.0 (462 keys"
      " for 90 % of its weight); stay above T = 0.1, where the gradient of head 1.2 is 0.60 (0.06"
      " at T = 1)."};
  EXPECT_EQ(summarize(scanned_results()), expected);
}
// clang-format on

TEST(Summary, EveryNumberIsInTheResults) {
  expect_every_number_is_in_the_results(scanned_results());
}

TEST(Summary, WithoutACriticalNSaysHowFarItLooked) {
  Results r = scanned_results();
  r.metric("critical_n")->values[1] = -1;
  r.metric("critical_fraction")->values[1] = kUndefined;
  expect_every_number_is_in_the_results(r);
  EXPECT_NE(summarize(r)[2].find("no top-N set up to N = 128"), std::string::npos);
  std::fill(r.metric("critical_n_head")->values.begin(), r.metric("critical_n_head")->values.end(),
            -1);
  expect_every_number_is_in_the_results(r);
  EXPECT_NE(summarize(r)[2].find("0 of 6 heads get there by N = 128; head 0.0 spreads 90 %"),
            std::string::npos);
}

TEST(Summary, LeavesOutACriticalNThatCouldNotBeRejected) {
  Results r = scanned_results();
  EXPECT_TRUE(critical_n_can_reject(r, 6));
  EXPECT_FALSE(critical_n_can_reject(r, 5));
  r.settings["critical_level"] = 0.001;
  for (const std::string& line : summarize(r))
    EXPECT_EQ(line.find("critical N"), std::string::npos);
}

TEST(Summary, CountsNoHeadAgainstCriticalNWhereNoneWasJudged) {
  Results r = scanned_results();
  for (double& value : r.metric("critical_n_head")->values) value = kUndefined;
  expect_every_number_is_in_the_results(r);
  EXPECT_EQ(
      summarize(r)[2],
      "At L = 1024, tested over all heads, the top 11 keys (1.07 %) carry the context vector "
      "(critical N, reading \"context\"); head 0.0 spreads 90 % of its weight over 462 keys.");
}

TEST(Summary, SaysWhatIsNotThere) {
  Results r = scanned_results();
  for (double& value : r.metric("sink_weight")->values) value *= .1;
  for (double& value : r.metric("attention_distance")->values) value += 30;
  r.flags = find_flags(r);
  expect_every_number_is_in_the_results(r);
  EXPECT_EQ(summarize(r)[1],
            "At L = 1024, no head is a sink: head 0.1 has most on the first token (0.07 of its "
            "weight), head 1.1 is the most local sharp one (30.1 back), head 1.0 selects from "
            "furthest away (262 back).");
}

TEST(Summary, NamesTheOnlySharpHeadOnce) {
  Results r = scanned_results();
  MetricArray& entropy = *r.metric("entropy_normalized");
  for (std::size_t cell : {1u, 3u, 7u, 9u, 11u}) entropy.values[cell] = .9;  // all but head 0.2
  r.flags = find_flags(r);
  EXPECT_EQ(
      summarize(r)[1],
      "At L = 1024, head 0.1 rests on the first token (0.71 of its weight), head 0.2 looks at "
      "the previous token (1.04 back).");
}

TEST(Summary, CountsNoSaturatedHeadsWhereNoneWasJudged) {
  Results r = scanned_results();
  r.metric("separability")->stderr_.clear();
  r.flags = find_flags(r);
  expect_every_number_is_in_the_results(r);
  EXPECT_EQ(summarize(r)[3],
            "At N = 20 of L = 1024, by the share of keys told apart, against that of random "
            "vectors, head 1.0 (0.98 against 0.47) does best, head 0.0 (0.21 against 0.44) worst.");
}

// Only the weights group, as for a dump of scores.
TEST(Summary, OtherLinesStandInForThoseThatCannotBeSaid) {
  const Results whole = scanned_results();
  Results r = whole;
  r.metrics.clear();
  for (const auto& [name, metric] : whole.metrics) {
    const bool weights = metric.dims.size() == 3 && name != "critical_n_head";
    if (weights) r.metrics.emplace_back(name, metric);
  }
  r.flags = find_flags(r);
  expect_every_number_is_in_the_results(r);
  const auto lines = summarize(r);
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_EQ(
      lines[2],
      "From L = 64 to L = 1024, head 0.0 goes from 256 to 512 effective keys, head 0.0 from 256 "
      "to 512.");
  EXPECT_EQ(lines[3],
            "90 % of the weight lies on 1.00 keys in head 0.2 and on 462 in head 0.0 at L = "
            "1024.");
}

TEST(Summary, AdviceDoesNotAskForMoreKeysThanAreNeeded) {
  Results r = scanned_results();
  for (double& value : r.metric("mass_90")->values) value = std::min(value, 50.0);
  EXPECT_NE(summarize(r)[4].find("that is enough even for head 0.0 (50.0 keys"), std::string::npos);
}

TEST(Summary, NothingMeasuredNothingSaid) {
  EXPECT_TRUE(summarize(Results{}).empty());
  Results r = scanned_results();
  r.metrics.clear();
  EXPECT_TRUE(summarize(r).empty());
}

}  // namespace
}  // namespace headgauge
