// Sinks: which keys are found, and what a scan says beyond them, against sums in float64.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "headgauge/headgauge.hpp"
#include "scan/head_with_sinks.hpp"
#include "test_data.hpp"

namespace headgauge {
namespace {

// A row as a measure sees it that looks beyond the sinks.
struct SeenRow {
  double entropy = kUndefined;
  Index keys = 0, first = 0;
};

class RowsBeyondSinks final : public Measure {
 public:
  explicit RowsBeyondSinks(std::vector<SeenRow>& rows) : rows_(rows) {
    rows_.assign(kTokensOfSinks, {});
  }
  void declare(MetricRegistry&) override {}
  MeasureNeeds needs() const override {
    return {.weights = true, .keys = MeasureNeeds::Keys::beyond_sinks};
  }
  void observe(const RowBlock& block, int, RowSink&) override {
    for (const Row& row : block.rows) {
      rows_[row.query] = {row.sums.entropy, row.n(), row.key(0)};
    }
  }

 private:
  std::vector<SeenRow>& rows_;
};

std::vector<SeenRow> rows_beyond_sinks(HeadSource& source, const std::string& pattern = "none") {
  std::vector<SeenRow> rows;
  ScanOptions options = options_of_sinks();
  options.measure.beyond_sinks = true;
  options.pattern = pattern;
  const MeasureMaker seen = [&](const MeasureOptions&, const SourceInfo&, int) {
    return std::make_unique<RowsBeyondSinks>(rows);
  };
  options.own_measures = {seen};
  options.threads = 1;
  scan(source, options);
  return rows;
}

TEST(Sinks, AreKeysThatTakeWeightWhateverTheQuery) {
  for (const std::vector<Index>& planted : {std::vector<Index>{0}, {0, 37}, {61}}) {
    HeadWithSinks source(planted);
    EXPECT_EQ(sinks_in(scan_weights(source)), Sinks(planted.begin(), planted.end()));
  }
  HeadWithSinks none({});
  EXPECT_EQ(sinks_in(scan_weights(none)), Sinks{});
  // A key is judged by 16 rows or more of the 64, 32 tokens later or more.
  HeadWithSinks late({0, 150});
  EXPECT_EQ(sinks_in(scan_weights(late)), Sinks{0});
  // A window of 100 lets a key be seen from afar by some rows.
  HeadWithSinks window({0, 61}, 7, Visibility::sliding_window(100));
  EXPECT_EQ(sinks_in(scan_weights(window)), (Sinks{0, 61}));
}

TEST(Sinks, AreNotSaidToBeMissingWhereNoKeyCanBeJudged) {
  HeadWithSinks window({0, 61}, 7, Visibility::sliding_window(40));
  const Results narrow = scan_weights(window);
  EXPECT_TRUE(std::isnan(narrow.at("sink_weight", {0, 0, 0})));
  EXPECT_FALSE(std::isnan(narrow.at("entropy", {0, 0, 0})));
  HeadWithSinks source({0});
  ScanOptions options;
  options.lengths = {47};
  options.measures = {"weights"};
  EXPECT_TRUE(std::isnan(scan(source, options).at("sink_weight", {0, 0, 0})));
  options.lengths = {48};
  EXPECT_GT(scan(source, options).at("sink_weight", {0, 0, 0}), .3);
}

// Few keys have much weight each, by chance.
TEST(Sinks, AreFarFromChance) {
  HeadWithSinks even({});
  ScanOptions options = options_of_sinks();
  options.pattern = "sinks:sinks=4,window=8";
  options.normalizer = "uniform";
  EXPECT_EQ(sinks_in(scan(even, options)), Sinks{});
  HeadWithSinks planted({0});
  options.normalizer = "softmax";
  EXPECT_EQ(sinks_in(scan(planted, options)), Sinks{0});
  // A pattern that picks keys by their weight: those that few rows pick are none.
  options.pattern = "topk:k=16";
  EXPECT_EQ(sinks_in(scan(even, options)), Sinks{});
  EXPECT_EQ(sinks_in(scan(planted, options)), Sinks{0});
}

TEST(Sinks, AreThoseOfADocumentWhereQueriesLookAheadToo) {
  HeadWithSinks source({150}, 7, Visibility::full());
  EXPECT_EQ(sinks_in(scan_weights(source)), Sinks{150});
}

// Every metric beyond the sinks, of weights summed in float64.
TEST(Sinks, LeaveARestThatIsMeasuredRowByRow) {
  HeadWithSinks source({0, 37});
  const Results results = scan_weights(source);
  double at_sinks = 0, rest = 0, entropy = 0, effective = 0, ratio = 0, largest = 0, back = 0;
  for (Index t = 0; t < kTokensOfSinks; ++t) {
    const std::vector<double> a = source.weights(t);
    double mass = 0, logs = 0, square = 0, most = 0, distance = 0;
    for (Index j = 0; j <= t; ++j) {
      const double w = a[j];
      if (j == 0 || j == 37) {
        at_sinks += w;
        continue;
      }
      mass += w;
      logs += w * std::log(w);
      square += w * w;
      most = std::max(most, w);
      distance += w * static_cast<double>(t - j);
    }
    if (mass == 0) continue;
    rest += mass;
    const double h = std::log(mass) - logs / mass;
    entropy += mass * h;
    effective += mass * std::exp(h);
    ratio += mass * mass * mass / square;
    largest += most;
    back += distance;
  }
  EXPECT_GT(at_sinks, 0.3 * kTokensOfSinks);
  const auto value = [&](const char* name) { return results.at(name, {0, 0, 0}); };
  EXPECT_NEAR(value("sink_weight"), at_sinks / kTokensOfSinks, 1e-6);
  EXPECT_NEAR(value("entropy"), entropy / rest, 1e-5);
  EXPECT_NEAR(value("effective_tokens"), effective / rest, 1e-4);
  EXPECT_NEAR(value("participation_ratio"), ratio / rest, 1e-4);
  EXPECT_NEAR(value("max_weight"), largest / rest, 1e-6);
  EXPECT_NEAR(value("attention_distance"), back / rest, 1e-4);
}

// The first token is the sink of all: without it the text is one token shorter.
TEST(Sinks, CanBeHiddenFromSetsAndSlopes) {
  HeadWithSinks whole({0}), shorter({0}, 7, Visibility::causal(), 1);
  ScanOptions options = options_of_sinks({});
  options.measure.top_n = {1, 5, 20};
  const Results plain = scan(whole, options);
  options.measure.beyond_sinks = true;
  const Results hidden = scan(whole, options);
  options.lengths = {static_cast<int>(kTokensOfSinks) - 1};
  const Results truth = scan(shorter, options);
  for (const char* metric : {"distance", "expected_distance", "separability_with_sinks",
                             "separability_lower", "separability_upper_paper"}) {
    SCOPED_TRACE(metric);
    for (Index n = 0; n < 3; ++n) {
      const double expected = truth.at(metric, {0, 0, 0, n});
      EXPECT_NEAR(hidden.at(metric, {0, 0, 0, n}), expected, 1e-5 * expected) << n;
      if (n > 0) {
        EXPECT_NE(plain.at(metric, {0, 0, 0, n}), expected) << n;
      }
    }
  }
  // What has its own value beyond the sinks stays that of whole rows.
  for (const char* metric : {"entropy_with_sinks", "sink_weight", "entropy"}) {
    EXPECT_EQ(hidden.at(metric, {0, 0, 0}), plain.at(metric, {0, 0, 0})) << metric;
  }
  EXPECT_NE(hidden.at("entropy_slope_with_sinks", {0, 0}),
            plain.at("entropy_slope_with_sinks", {0, 0}));
  EXPECT_TRUE(hidden.settings.at("beyond_sinks").get<bool>());
}

using Sees = std::function<bool(Index t, Index j)>;

// Each row against the softmax, in float64, of the keys that it sees but for the sinks.
void expect_rows_beyond(const std::vector<Index>& sinks, const HeadWithSinks& source,
                        const std::vector<SeenRow>& rows, const Sees& sees) {
  ASSERT_EQ(std::ssize(rows), kTokensOfSinks);
  for (Index t = 0; t < kTokensOfSinks; ++t) {
    const std::vector<double> all = source.weights(t);
    const SeenRow& row = rows[t];
    std::vector<Index> keys;
    double mass = 0, logs = 0;
    for (Index j = 0; j <= t; ++j) {
      if (!sees(t, j) || std::ranges::find(sinks, j) != sinks.end()) continue;
      keys.push_back(j);
      mass += all[j];
      logs += all[j] * std::log(all[j]);
    }
    // A row that sees sinks alone is one of one key, its own, and has no entropy.
    if (keys.empty()) keys = {t};
    EXPECT_EQ(row.keys, std::ssize(keys)) << t;
    EXPECT_EQ(row.first, keys.front()) << t;
    const double entropy = mass > 0 ? std::log(mass) - logs / mass : 0;
    EXPECT_NEAR(row.entropy, entropy, 2e-5 + 1e-5 * entropy) << t;
  }
}

TEST(Sinks, ThatAreHiddenLeaveTheSoftmaxOfTheOthers) {
  // Row 1 sees none but sinks.
  const std::vector<Index> planted{0, 1, 61};
  HeadWithSinks source(planted);
  expect_rows_beyond(planted, source, rows_beyond_sinks(source), [](Index, Index) { return true; });
}

TEST(Sinks, ThatAreHiddenBringBackNoKeyThatIsOutOfSight) {
  const std::vector<Index> planted{0, 61};
  HeadWithSinks window(planted, 7, Visibility::sliding_window(100));
  expect_rows_beyond(planted, window, rows_beyond_sinks(window),
                     [](Index t, Index j) { return t - j < 100; });

  // Under patterns that do without logits and that need them.
  HeadWithSinks source({0});
  expect_rows_beyond({0}, source, rows_beyond_sinks(source, "sinks:sinks=4,window=60"),
                     [](Index t, Index j) { return j < 4 || t - j < 60; });
  const Sees heaviest_16 = [&](Index t, Index j) {
    const std::vector<double> all = source.weights(t);
    return std::ranges::count_if(all, [&](double w) { return w > all[j]; }) < 16;
  };
  expect_rows_beyond({0}, source, rows_beyond_sinks(source, "topk:k=16"), heaviest_16);
}

// Leaves the keys whose logit is above -1/2.
class LeavesLargeLogits final : public KeyMask {
 public:
  static constexpr double kLeast = -0.5;
  bool needs_logits() const override { return true; }
  void select(Index, KeyRange range, std::span<const float> logits,
              std::vector<std::uint32_t>& keys) const override {
    keys.clear();
    for (Index j = range.begin; j < range.end; ++j) {
      if (logits[j - range.begin] > kLeast) keys.push_back(static_cast<std::uint32_t>(j));
    }
  }
};

TEST(Sinks, ThatAreHiddenLeaveWhatAMaskLeaves) {
  const std::vector<Index> planted{0, 61};
  HeadWithSinks source(planted, 7,
                       Visibility::causal().masked(std::make_shared<LeavesLargeLogits>()));
  expect_rows_beyond(planted, source, rows_beyond_sinks(source), [&](Index t, Index j) {
    return source.logit(t, j) > LeavesLargeLogits::kLeast;
  });
}

// What a rule with a sink of its own leaves out is on a sink too.
TEST(Sinks, OfTheRuleCountWithThoseOfTheHead) {
  HeadWithSinks source({});
  ScanOptions options = options_of_sinks();
  options.normalizer = "sink:b=3";
  const Results results = scan(source, options);
  EXPECT_NEAR(results.at("sink_weight", {0, 0, 0}), 1 - results.at("mass", {0, 0, 0}), 1e-6);
  EXPECT_GT(results.at("sink_weight", {0, 0, 0}), 0.05);
  const Results plain = scan_weights(source);
  EXPECT_EQ(plain.at("sink_weight", {0, 0, 0}), 0);
  EXPECT_EQ(plain.at("entropy", {0, 0, 0}), plain.at("entropy_with_sinks", {0, 0, 0}));
}

// SmolLM2 on the beginning of War and Peace, against the attention that transformers computes of
// the same file, averaged by numpy over all queries: the same keys are sinks of 25 heads or more
// (one more, at 852, too few of the rows that are asked see from afar), and of the weight beyond
// them the same heads look at what followed earlier copies.
TEST(Sinks, OfSmolLm2AreThoseOfTransformers) {
  const std::string file = testing::smollm_path();
  const std::string text = testing::shared_path("text/war_and_peace.txt");
  if (!testing::exists(file)) GTEST_SKIP() << testing::kNoSmolLm;
  if (!testing::exists(text)) GTEST_SKIP() << "no shared/data/text";
  std::vector<int> ids = Tokenizer::load(file).encode(read_text_file(text).substr(0, 8000));
  ids.resize(1024);
  const auto source = make_model_source(resolve_model(file), {{"text", ids, ""}}, {.threads = 2});
  ScanOptions scan_options;
  scan_options.lengths = {1024};
  scan_options.threads = 2;
  scan_options.measures = {"weights", "roles"};
  const Results results = scan(*source, scan_options);
  EXPECT_EQ(sinks_in(results), (Sinks{0, 23, 54, 260, 373, 505, 618}));
  const std::vector<FoundSink>& found = results.text.sinks.value();
  EXPECT_EQ(found.at(0).position, 0);
  EXPECT_NEAR(found.at(0).heads, 228, 3);
  EXPECT_EQ(found.at(1).position, 23);
  EXPECT_EQ(found.at(1).last_layer, 10);

  std::set<std::string> induction;
  Index resting = 0;
  for (const Flag& flag : results.flags) {
    if (flag.name == "induction") induction.insert(fmt::format("{}.{}", flag.layer, flag.head));
    resting += flag.name == "sinks";
  }
  EXPECT_EQ(induction, (std::set<std::string>{"17.3", "17.4", "17.5", "18.6"}));
  EXPECT_NEAR(static_cast<double>(resting), 184, 3);
  const auto share = [&](Index layer, Index head, const char* name) {
    return results.at(name, {layer, head, 0});
  };
  EXPECT_NEAR(share(17, 3, "weight_induction"), .71, .01);
  EXPECT_NEAR(share(17, 5, "weight_induction"), .63, .01);
  EXPECT_NEAR(share(17, 3, "weight_induction_with_sinks"), .35, .01);
  EXPECT_NEAR(share(8, 0, "weight_copies"), .70, .015);
  EXPECT_NEAR(share(16, 0, "weight_previous"), .86, .01);
}

}  // namespace
}  // namespace headgauge
