// Patterns of positions against their definitions, pair by pair, and the registry.
#include "headgauge/patterns.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "faults.hpp"
#include "headgauge/attention_plan.hpp"
#include "heads/asked_masks.hpp"

namespace headgauge {
namespace {

// Whether a query sees a key of its range; the positions are 0-based.
using Sees = std::function<bool(Index query, Index key)>;

struct Definition {
  std::string spec;
  Sees causal;
  Sees bidirectional;
};

std::vector<Definition> definitions() {
  std::vector<Definition> all;
  for (const Index size : {1, 2, 3, 8, 33, 500}) {
    for (const Index global : {0, 1, 5}) {
      // Longformer: w/2 on either side; global positions attend to all and are attended to by all.
      all.push_back({"window:size=" + std::to_string(size) + ",global=" + std::to_string(global),
                     [=](Index i, Index j) { return i - j < size || i < global || j < global; },
                     [=](Index i, Index j) {
                       return std::abs(i - j) <= size / 2 || std::min(i, j) < global;
                     }});
      // StreamingLLM: the sinks see no more than others.
      all.push_back({"sinks:window=" + std::to_string(size) + ",sinks=" + std::to_string(global),
                     [=](Index i, Index j) { return j < global || i - j < size; },
                     [=](Index i, Index j) { return j < global || std::abs(i - j) <= size / 2; }});
    }
  }
  return all;
}

class EveryVisibility : public ::testing::TestWithParam<Index> {
 protected:
  std::vector<HeadInput> heads() const {
    return {bare_head(), bare_head(Visibility::full()), bare_head(Visibility::sliding_window(10))};
  }
};

TEST_P(EveryVisibility, APatternIsItsDefinition) {
  const Index length = GetParam();
  for (const Definition& definition : definitions()) {
    for (const HeadInput& head : heads()) {
      const auto mask = make_pattern(definition.spec)->mask(head);
      const Sees& sees = head.visibility.is_causal() ? definition.causal : definition.bidirectional;
      for (Index query = 0; query < length; ++query) {
        ASSERT_EQ(asked(*mask, head, query, length), brute(head, query, length, sees))
            << definition.spec << ", query " << query << " of " << length;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Lengths, EveryVisibility,
                         ::testing::Values(1, 2, 3, 5, 11, 32, 63, 64, 65, 130, 200));

std::string kept_all(const std::string& spec, const SourceInfo& source, Index length) {
  return thrown<UsageError>(
      [&] { require_dropped_keys(spec, "ScanOptions::pattern", source, length); });
}

TEST_P(EveryVisibility, APatternThatDropsNoKeyByItsDefinitionIsRefused) {
  const Index length = GetParam();
  for (const Definition& definition : definitions()) {
    for (const HeadInput& head : heads()) {
      SourceInfo source;
      source.layers = 1;
      source.causal = head.visibility.is_causal();
      source.windows = {head.visibility.window()};
      const Sees& sees = source.causal ? definition.causal : definition.bidirectional;
      bool drops = false;
      for (Index query = 0; query < length; ++query) {
        const Keys left = brute(head, query, length, sees);
        drops = drops || std::ssize(left) < head.visibility.range(query, length).size();
      }
      EXPECT_EQ(kept_all(definition.spec, source, length) == "nothing", drops)
          << definition.spec << " of " << length;
    }
  }
}

TEST_P(EveryVisibility, QueriesKeepAllKeysUpToTheFirstThatLosesOneByItsDefinition) {
  const Index length = GetParam();
  for (const Definition& definition : definitions()) {
    const HeadInput head = bare_head();
    Index first = 0;
    while (first < length && std::ssize(brute(head, first, length, definition.causal)) ==
                                 head.visibility.range(first, length).size()) {
      ++first;
    }
    SourceInfo source;
    source.layers = 1;
    EXPECT_EQ(queries_with_all_keys(*make_pattern(definition.spec), source, length), first)
        << definition.spec << " of " << length;
  }
}

TEST(DroppedKeys, OfTheFirstHeadThatLosesOneCount) {
  SourceInfo source;
  source.layers = 1;
  source.heads = 3;
  HeadInterventions heads(1, 3);
  EXPECT_EQ(queries_with_all_keys(heads, source, 40), 40);
  heads(0, 1).pattern = make_pattern("window:size=20");
  heads(0, 2).pattern = make_pattern("sinks:sinks=4,window=8");
  EXPECT_EQ(queries_with_all_keys(heads, source, 40), 12);
}

TEST(Patterns, OfTheFirstAndTheLastKeysHaveWords) {
  EXPECT_EQ(pattern_in_words("sinks:sinks=4,window=508"), "first 4 and last 508");
  EXPECT_EQ(pattern_in_words("window:size=512"), "last 512");
  EXPECT_EQ(pattern_in_words("topk:k=8"), "topk:k=8");
  EXPECT_EQ(pattern_in_words("plans/small.json"), "plans/small.json");
}

TEST(CachedBytes, AreThoseOfTheSharingHeadThatKeepsMost) {
  SourceInfo source;
  source.layers = 2;
  source.heads = 4;
  source.kv_heads = 2;
  source.head_dim = 8;
  source.element_bytes = 4;  // of the checkpoint; a cache is served in 16 bits
  source.windows = {16, 0};
  HeadInterventions heads(2, 4);
  constexpr double kKey = 2 * 8 * 2;  // key and value, 8 numbers of 2 bytes
  EXPECT_EQ(cached_bytes(heads, source, 100), (2 * 16 + 2 * 100) * kKey);
  heads.each([](int layer, int head, HeadIntervention& here) {
    if (head < 2 || layer == 0) here.pattern = make_pattern("sinks:sinks=4,window=28");
  });
  EXPECT_EQ(cached_bytes(heads, source, 100), (2 * 16 + 32 + 100) * kKey);
  heads(1, 1).pattern = make_pattern("window:size=50");
  EXPECT_EQ(cached_bytes(heads, source, 100), (2 * 16 + 50 + 100) * kKey);
}

TEST(DroppedKeys, AreFewerThanThePatternsOfContentHold) {
  SourceInfo source;
  source.layers = 2;
  for (const char* spec : {"topk:k=12", "h2o:keys=12", "tova:keys=12,recent=3", "keydiff:keys=12",
                           "bigbird:window=5,random=4,global=3"}) {
    EXPECT_EQ(kept_all(spec, source, 13), "nothing") << spec;
    expect_part(kept_all(spec, source, 12),
                "ScanOptions::pattern: expected a pattern that drops keys at a length of at most "
                "12, found " +
                    std::string(spec) + ", which keeps all; give longer ScanOptions::lengths");
  }
}

TEST(DroppedKeys, OfOneLayerAreEnough) {
  SourceInfo source;
  source.layers = 3;
  source.windows = {8, 0, 8};
  EXPECT_EQ(kept_all("window:size=20", source, 40), "nothing")
      << "layer 1 has no window of its own";
  source.without_attention = {1};
  EXPECT_NE(kept_all("window:size=20", source, 40), "nothing");
}

TEST(Patterns, GiveEveryQueryAKeyAndNoneOfTheFuture) {
  Matrix<float> vectors(200, 4);
  for (Index i = 0; i < 200; ++i) vectors(i, i % 4) = static_cast<float>(i % 7) - 3.0f;
  std::vector<float> logits(200);
  for (std::size_t j = 0; j < logits.size(); ++j) logits[j] = static_cast<float>(j * j % 37);
  for (const PatternInfo& info : patterns()) {
    for (HeadInput head : {bare_head(), bare_head(Visibility::sliding_window(3))}) {
      head.queries = vectors;
      head.keys = vectors;
      const auto mask = make_pattern(info.name)->mask(head);
      for (const Index length : {1, 2, 50, 200}) {
        for (Index query = 0; query < length; ++query) {
          const KeyRange range = head.visibility.range(query, length);
          const Keys keys = asked(*mask, head, query, length,
                                  std::span(logits).subspan(range.begin, range.size()));
          ASSERT_FALSE(keys.empty()) << info.name;
          EXPECT_TRUE(std::ranges::is_sorted(keys, std::less_equal{})) << info.name;
          EXPECT_GE(keys.front(), range.begin) << info.name;
          EXPECT_LE(keys.back(), query) << info.name;
        }
      }
    }
  }
}

TEST(Patterns, HaveTheDefaultsThatTheListNames) {
  ASSERT_EQ(patterns().size(), 7u);
  for (const PatternInfo& info : patterns()) {
    EXPECT_FALSE(info.formula.empty());
    EXPECT_FALSE(info.source.empty());
    const std::string text = info.parameters.text();
    EXPECT_EQ(make_pattern(info.name)->info().parameters.text(), text);
    EXPECT_EQ(make_pattern(info.name + ":" + text)->info().parameters.text(), text);
    EXPECT_EQ(make_pattern(info.name)->info().name, info.name);
  }
}

std::string message(const std::string& spec) {
  return thrown<UsageError>([&] { make_pattern(spec); });
}

TEST(Patterns, RefuseWhatTheyCannotRead) {
  const auto expect = [](const std::string& spec, const std::string& part) {
    EXPECT_NE(message(spec).find(part), std::string::npos) << spec << ": " << message(spec);
  };
  expect("windw", "ScanOptions::pattern: expected the name of a pattern such as window");
  for (const PatternInfo& info : patterns()) expect("snapkv", info.name);
  expect("streaming_llm", "did you mean sinks, whose keys keep their positions in the text?");
  expect("sliding-window", "did you mean window?");
  expect("window=128", "write window:size=128");
  expect("sinks=4,window=60", "write sinks:sinks=4,window=60");
  expect("h2o:half", "write h2o:recent=half");
  expect("window:128,4", "`headgauge list patterns` lists patterns and parameters");
  expect("sinks:4,window=60", "write sinks:sinks=4,window=60");
  expect("sinks:sinks=4,60", "`headgauge list patterns` lists patterns and parameters");
  expect("", "`headgauge list patterns` lists them");
  expect("window:", "`headgauge list patterns` lists patterns and parameters");
  expect("window:size=0",
         "ScanOptions::pattern window, parameter size: expected a whole number of at least 1");
  expect("window:size=2.5", "whole number");
  expect("window:global=-1", "of at least 0");
  expect("window:stride=3", "expected parameters size=128,global=0, found \"stride\"");
  expect("sinks:window=0", "of at least 1");
  expect("h2o:keys=8,recent=9", "of at least 1 up to 8");
  expect("bigbird:random=-1", "of at least 0");
  expect("topk:k=0", "of at least 1");
}

// Returns what stands behind `words` in the message, up to one of `ends`.
std::string advised(const std::string& spec, const std::string& words, const char* ends) {
  const std::string said = message(spec);
  const std::size_t begin = said.find(words);
  if (begin == said.npos) return {};
  return said.substr(begin + words.size(),
                     said.find_first_of(ends, begin + words.size()) - begin - words.size());
}

TEST(Patterns, AdviseOnlyWhatTheyRead) {
  int written = 0;
  for (const PatternInfo& info : patterns()) {
    for (const std::string values :
         {"128", "4", "0", "half", "8,4", "4,8", "128,4,2", "4,4,4,4", "2,2,2,2,2", "4,nothing=2",
          "128,half", "4,", "4,size=8", "4,window=8", "8,keys=9"}) {
      for (const char* between : {":", "="}) {
        const std::string spec = info.name + between + values;
        const std::string advice = advised(spec, "write ", "`\n");
        written += advice.empty() ? 0 : 1;
        if (!advice.empty()) {
          EXPECT_EQ(message(advice), "nothing") << spec;
        }
      }
    }
  }
  EXPECT_GE(written, 30);
  for (const char* name : {"streaming_llm", "attention_sinks", "sliding", "local", "longformer",
                           "heavy_hitter", "oracle", "snapkv"}) {
    EXPECT_EQ(message(advised(name, "did you mean ", " ,?")), "nothing") << name;
  }
}

TEST(Patterns, SayOnceWhereTheyHideNothing) {
  SourceInfo source;
  source.documents = {100};
  EXPECT_EQ(make_pattern("topk:k=64")->notice(source, 100),
            "topk: k = 64 exceeds the number of keys of the first rows; these rows keep all keys");
  EXPECT_EQ(make_pattern("topk:k=1")->notice(source, 100), "");
  source.causal = false;
  EXPECT_EQ(make_pattern("topk:k=64")->notice(source, 100), "");
  EXPECT_NE(make_pattern("topk:k=101")->notice(source, 100), "");
  EXPECT_NE(make_pattern("topk:k=64")->notice(source, 50), "");
  EXPECT_EQ(make_pattern("window")->notice(source, 50), "");
}

// A pattern that says which first and last keys it keeps keeps these and no others.
TEST(Patterns, KeepTheFirstAndLastKeysThatTheyName) {
  constexpr Index kKeys = 40;
  const Matrix<float> rows(kKeys, 4);
  HeadInput head = bare_head();
  head.queries = head.keys = rows.view();
  int saying = 0;
  for (const char* spec : {"sinks:sinks=3,window=5", "window:size=7", "window:size=6,global=2",
                           "sinks:sinks=0,window=1", "bigbird", "topk"}) {
    const auto pattern = make_pattern(spec);
    const auto kept = pattern->first_and_last();
    if (!kept) continue;
    ++saying;
    const auto mask = pattern->mask(head);
    for (Index query = 0; query < kKeys; ++query) {
      const Keys expected = brute(head, query, kKeys, [&](Index i, Index j) {
        return j < kept->first || j > i - kept->last;
      });
      EXPECT_EQ(asked(*mask, head, query, kKeys), expected) << spec << ", query " << query;
    }
  }
  EXPECT_EQ(saying, 4) << "patterns of first and last keys";
}

}  // namespace
}  // namespace headgauge
