#include "findings/summary.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "faults.hpp"
#include "findings/scanned_results.hpp"
#include "findings/summary_facts.hpp"

namespace headgauge {
namespace {

std::vector<std::string> texts(const Results& results) {
  std::vector<std::string> list;
  for (const SummaryLine& line : testing::findings_of(results)) list.push_back(line.text);
  return list;
}

// clang-format off
TEST(Summary, FourLinesInPlainWords) {
  const std::vector<std::string> expected{
      "At L = 1024, 1 of 6 heads rests on sinks, keys that take weight whatever the query (more than"
      " 0.3 of the weight; most in head 0.1, 0.71).",
      "Beyond the sinks at L = 1024, the flattest is head 0.0 (entropy 1.00 of its maximum), the"
      " sharpest head 1.1 (0.00).",
      "At L = 1024, over all heads, the distance is shown to be the expected one within 5 % at N = 11"
      " first (1.07 %; critical N, reading \"context\"); the median over the heads is closest at N ="
      " 29 (21 to 44; 0.98 of it); one by one 4 of 6 heads get there by N = 128, first"
      " head 0.2 (1).",
      "At N = 20 of L = 1024, beyond the sinks, 2 of 6 heads separate their keys less well than with the pairing of"
      " weights and keys permuted; head 1.0 (by 0.51) exceeds that most, head 0.0 (by -0.23) least."};
  EXPECT_EQ(texts(scanned_results()), expected);
}
// clang-format on

// The heads of the first layer see 512 keys at most: a count of heads says how many see all.
TEST(Summary, TellsHeadsThatSeeAllKeysFromOthers) {
  Results r = scanned_results();
  r.text.sinks.emplace();
  r.text.sinks->push_back({.position = 0, .heads = 1, .first_layer = 0, .last_layer = 0});
  r.set_coord("window", std::vector<double>{512, 0});
  testing::expect_every_number_is_in_the_results(r);
  const auto lines = texts(r);
  expect_part(lines[0], "1 of 6 heads (0 of the 3 that see all keys) rests on sinks, keys that");
  expect_part(lines[0], "more than 5 %, of queries that see it, goes to the first token in 1 head");
  expect_part(lines[3], "2 of 6 heads (1 of the 3 that see all keys) separate their keys");
  // A window of the whole text is none.
  r.set_coord("window", std::vector<double>{1024, 0});
  expect_part(texts(r)[0], "1 of 6 heads rests on sinks, keys that");
  expect_part(texts(r)[0], "more than 5 % goes to the first token");
}

TEST(Summary, EveryNumberIsInTheResults) {
  testing::expect_every_number_is_in_the_results(scanned_results());
}

TEST(Summary, NamesNoCommandThatMadeTheResults) {
  Results r = scanned_results();
  const auto names = [&](const char* command) {
    return std::ranges::any_of(summarize(r), [&](const SummaryLine& line) {
      return line.next.find(command) != std::string::npos;
    });
  };
  EXPECT_TRUE(names("headgauge reproduce limits"));
  r.command = Command::reproduce_limits;
  EXPECT_FALSE(names("headgauge reproduce limits"));
}

TEST(Summary, TellsWhichHeadsDisperseAndWhatBecomesOfThem) {
  Results r = scanned_results();
  set_outlook(r, .9);
  testing::expect_every_number_is_in_the_results(r);
  const auto lines = texts(r);
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_EQ(
      lines[2],
      "Up to L = 1024, head 0.0 is shown to disperse most (its entropy, sinks included, grows by "
      "0.98 ± 0.00 "
      "per unit of log n), head 0.2 keeps selecting (0.02 ± 0.01); at L = 2048 they should spread "
      "over 1510 (1400 to 1626) and 1.25 (1.00 to 2.50) keys (95 % intervals: one octave "
      "before, such intervals held for 90.0 % of the heads).");
  expect_part(lines[3], "critical N");
}

TEST(Summary, ANoisyHeadNeitherDispersesMostNorKeepsSelecting) {
  Results r = scanned_results();
  set_outlook(r, .9);
  LabelledArray& slope = *r.metric("entropy_slope_with_sinks");
  slope.values[3] = 1.4;  // ± .4
  expect_part(texts(r)[2], "head 0.0 is shown to disperse most");
  slope.values[3] = -.4;
  expect_part(texts(r)[2], "head 0.2 keeps selecting");
  slope.standard_error[3] = .04;  // its entropy falls
  expect_part(texts(r)[2], "head 1.0 keeps selecting (-0.40 ± 0.04)");
}

TEST(Summary, SaysThatForecastsAreUnreliable) {
  Results r = scanned_results();
  set_outlook(r, .79);
  expect_part(texts(r)[2], "unreliable: one octave before, such intervals held for only 79.0");
  for (double& slope : r.metric("entropy_slope_with_sinks")->values) slope += .6;
  testing::expect_every_number_is_in_the_results(r);
  expect_part(texts(r)[2], "head 0.2 least (0.62 ± 0.01)");
  r.metric("forecast_coverage")->values[0] = kUndefined;
  expect_no_part(texts(r)[2], "should spread");
  // Nothing is foreseen where the model has no positions.
  r.metric("forecast_coverage")->values[0] = .9;
  expect_part(texts(r)[2], "should spread");
  LabelledArray& forecast = *r.metric("effective_tokens_forecast_with_sinks");
  for (auto* numbers : {&forecast.values, &forecast.low, &forecast.high}) {
    std::ranges::fill(*numbers, kUndefined);
  }
  expect_no_part(texts(r)[2], "should spread");
}

TEST(Summary, WithoutACriticalNSaysHowFarItLooked) {
  Results r = scanned_results();
  r.metric("critical_n")->values[1] = -1;
  r.metric("critical_fraction")->values[1] = kUndefined;
  testing::expect_every_number_is_in_the_results(r);
  expect_part(texts(r)[2], "within 5 % at no N up to 128 (critical N");
  r.metric("closest_n")->high[1] = 128;
  expect_part(texts(r)[2], "(21 to 128 or more; 0.98 of it)");
  std::fill(r.metric("critical_n_head")->values.begin(), r.metric("critical_n_head")->values.end(),
            -1);
  testing::expect_every_number_is_in_the_results(r);
  expect_part(texts(r)[2], "0 of 6 heads get there by N = 128; head 0.0 spreads 90 %");
}

TEST(Summary, DoesNotSayThatItLookedFurtherThanThereAreKeys) {
  Results r = scanned_results();
  r.settings["critical_max"] = 5000;
  testing::expect_every_number_is_in_the_results(r);
  expect_part(texts(r)[2], "get there by N = 1023, first");
}

TEST(Summary, LeavesOutACriticalNThatCouldNotBeShown) {
  Results r = scanned_results();
  EXPECT_TRUE(critical_n_can_be_shown(r, 6));
  EXPECT_FALSE(critical_n_can_be_shown(r, 5));
  r.settings["critical_level"] = 0.01;
  for (const std::string& line : texts(r)) expect_no_part(line, "critical N");
}

TEST(Summary, CountsNoHeadAgainstCriticalNWhereNoneWasJudged) {
  Results r = scanned_results();
  for (double& value : r.metric("critical_n_head")->values) value = kUndefined;
  testing::expect_every_number_is_in_the_results(r);
  EXPECT_EQ(texts(r)[2],
            "At L = 1024, over all heads, the distance is shown to be the expected one within 5 % "
            "at N = 11 first (1.07 %; critical N, reading \"context\"); the median over the heads "
            "is closest at N = 29 (21 to 44; 0.98 of it); head 0.0 spreads 90 % of its weight "
            "beyond the sinks over 462 keys.");
}

TEST(Summary, SaysWhatIsNotThere) {
  Results r = scanned_results();
  for (double& value : r.metric("sink_weight")->values) value *= .1;
  r.flags = find_flags(r);
  testing::expect_every_number_is_in_the_results(r);
  EXPECT_EQ(
      texts(r)[0],
      "At L = 1024, no head rests on sinks, keys that take weight whatever the query; most of "
      "its weight there has head 0.1 (0.07).");
}

TEST(Summary, NamesTheSinksOfTheMostHeadsAndTheDormantOnes) {
  Results r = scanned_results();
  r.metric("sink_weight")->values[3] = .97;  // head 0.1
  r.text.sinks = {{0, 5, 0, 1}, {23, 2, 1, 1}, {40, 1.5, 1, 1}, {50, 1, 1, 1}};
  r.flags = find_flags(r);
  EXPECT_EQ(
      texts(r)[0],
      "At L = 1024, 1 of 6 heads rests on sinks, keys that take weight whatever the query "
      "(more than 0.3 of the weight; most in head 0.1, 0.97): more than 5 % goes to the first "
      "token in 5 heads, to token 23 in 2 heads of layer 1 and to token 40 in 2 heads of layer "
      "1; 1 is dormant (above 0.95).");
}

// The keys of cross-attention are no tokens of the text that was read, and perhaps none at all.
TEST(Summary, NamesNoTokenWhereTheKeysAreOfAnotherText) {
  Results r = scanned_results();
  r.text.sinks = {{0, 5, 0, 1}, {23, 2, 1, 1}};
  r.model.attention = "self";
  expect_part(texts(r)[0], "to the first token in 5 heads and to token 23 in");
  r.model.attention = "cross";
  testing::expect_every_number_is_in_the_results(r);
  expect_part(texts(r)[0], "to the first key in 5 heads and to key 23 in 2");
}

TEST(Summary, CountsRolesAndNamesTheHeadsOfTheRareOnes) {
  Results r = scanned_results();
  r.add_metric("role_chance", {"layer", "head", "length"}, "1");
  const auto flag = [&](const char* name, int layer, int head, double value) {
    r.flags.push_back({name, layer, head, 1024, value, .4, "", "", {}});
  };
  flag("induction", 1, 0, .5);
  flag("induction", 0, 2, .8);
  flag("previous", 0, 2, .45);
  flag("near", 1, 1, .9);
  testing::expect_every_number_is_in_the_results(r);
  EXPECT_EQ(
      texts(r)[1],
      "Beyond the sinks at L = 1024, 2 heads look at what followed earlier copies of the "
      "token (induction: head 0.2, head 1.0), 1 looks at the token before (previous: head 0.2), "
      "1 stays near (near: head 1.1).");
}

TEST(Summary, SaysWhatTheTheoremExpectsAndWhatCopiesDo) {
  Results r = scanned_results();
  set_separability(r, "distance", {40, 42, 44, 46, 48, 50});
  set_separability(r, "expected_distance", {2, 2, 2, 2, 2, 2});
  set_separability(r, "separability_excess_distinct", {-.3, .4, -.2, .5, -.1, .2});
  set_heads(r, "equal_key_pairs", "1", {.07, .07, .07, .07, .07, .07});
  testing::expect_every_number_is_in_the_results(r);
  const auto lines = texts(r);
  expect_part(lines[2],
              "; in the median head the distance at N = 20 is 22.5 times what Theorem 1.2 "
              "expects of random keys.");
  expect_part(lines[3],
              "permuted (3 with each vector counted once: 7 % of the pairs of keys have "
              "one vector); head 1.0");
}

TEST(Summary, CountsNoSaturatedHeadsWhereNoneWasJudged) {
  Results r = scanned_results();
  r.metric("separability_excess")->standard_error.clear();
  r.flags = find_flags(r);
  testing::expect_every_number_is_in_the_results(r);
  EXPECT_EQ(texts(r)[3],
            "At N = 20 of L = 1024, beyond the sinks, the share of separable keys exceeds that "
            "with the pairing of "
            "weights and keys permuted most in head 1.0 (by 0.51), least in head 0.0 (by -0.23).");
}

// Only the weights group, as for a dump of scores.
TEST(Summary, OtherLinesStandInForThoseThatCannotBeSaid) {
  const Results whole = scanned_results();
  Results r = whole;
  r.metrics.clear();
  for (const auto& [name, metric] : whole.metrics) {
    const bool weights = metric.dim_names().size() == 3 && name != "critical_n_head";
    if (weights) r.metrics.emplace_back(name, metric);
  }
  r.flags = find_flags(r);
  testing::expect_every_number_is_in_the_results(r);
  const auto lines = texts(r);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[2],
            "Beyond the sinks, from L = 64 to L = 1024, head 0.0 goes from 256 to 512 effective "
            "keys, head 0.0 from 256 "
            "to 512.");
  EXPECT_EQ(lines[3],
            "90 % of the weight beyond the sinks lies on 1.00 keys in head 0.2 and on 462 in head "
            "0.0 at L = 1024.");
}

// A head that rests neither grows, disperses nor keeps selecting, however its numbers read.
class RestingHeads : public ::testing::Test {
 protected:
  std::string lines_on_growth() const {
    std::string found;
    for (const std::string& line : texts(results_)) {
      if (line.starts_with("Up to") || line.starts_with("Beyond the sinks, from")) found += line;
    }
    return found;
  }
  void rest(std::size_t head, double weight = .97) {
    results_.metric("sink_weight")->values[2 * head + 1] = weight;
  }
  static bool names(const std::string& line, const std::string& words) {
    return line.find(words) != std::string::npos;
  }

  Results results_ = scanned_results();
};

TEST_F(RestingHeads, AreNoneThatDisperseOrKeepSelecting) {
  set_outlook(results_, .9);
  std::string line = lines_on_growth();
  ASSERT_TRUE(names(line, "head 0.0 is shown to disperse most")) << line;
  ASSERT_TRUE(names(line, "head 0.2 keeps selecting")) << line;
  rest(0, .95);  // as much as a head may
  rest(2, .95);
  EXPECT_EQ(lines_on_growth(), line);
  rest(0);
  line = lines_on_growth();
  EXPECT_TRUE(names(line, "head 1.2 is shown to disperse most")) << line;
  EXPECT_TRUE(names(line, "head 0.2 keeps selecting")) << line;
  rest(2);
  line = lines_on_growth();
  EXPECT_TRUE(names(line, "head 1.2 is shown to disperse most")) << line;
  EXPECT_TRUE(names(line, "head 0.1 least")) << line;
  // Their forecasts go with them.
  EXPECT_TRUE(names(line, "spread over 220 (190 to 250) and 20.0 (10.0 to 40.0) keys")) << line;
  testing::expect_every_number_is_in_the_results(results_);
  for (const std::size_t head : {1, 3}) rest(head);
  EXPECT_EQ(lines_on_growth(), "");  // one that is awake, and nothing to set beside it
  for (const std::size_t head : {4, 5}) rest(head);
  EXPECT_EQ(lines_on_growth(), "");
}

TEST_F(RestingHeads, AreNoneThatGrow) {
  // The findings of these groups come first: the results say that they were not measured.
  for (const char* name : {"critical_n", "separability_excess"}) {
    std::erase_if(results_.metrics, [&](const auto& metric) { return metric.first == name; });
  }
  results_.metric("effective_tokens")->values = {2, 900, 5, 50, 900, 2, 5, 60, 5, 70, 5, 80};
  EXPECT_EQ(lines_on_growth(),
            "Beyond the sinks, from L = 64 to L = 1024, head 0.0 goes from 2.00 to 900 effective "
            "keys, head 0.2 from "
            "900 to 2.00.");
  rest(0);
  rest(2);
  EXPECT_EQ(lines_on_growth(),
            "Beyond the sinks, from L = 64 to L = 1024, head 1.2 goes from 5.00 to 80.0 effective "
            "keys, head 0.1 "
            "from 5.00 to 50.0.");
  testing::expect_every_number_is_in_the_results(results_);
  for (const std::size_t head : {1, 3, 4, 5}) rest(head);
  EXPECT_EQ(lines_on_growth(), "");
}

// What was not tried is not advised: no number of keys to keep, no temperature to stay above.
TEST(Summary, GivesNoAdvice) {
  for (const std::string& line : texts(scanned_results())) {
    for (const char* word : {"keep at most", "stay above", "leave room"}) {
      expect_no_part(line, word);
    }
  }
}

TEST(Summary, NothingMeasuredNothingSaid) {
  EXPECT_TRUE(texts(Results{}).empty());
  Results r = scanned_results();
  r.metrics.clear();
  EXPECT_TRUE(texts(r).empty());
}

}  // namespace
}  // namespace headgauge
