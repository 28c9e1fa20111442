// Interventions set against a model: what is changed, what is taken over, what is recommended.
#include "headgauge/compare.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "findings/summary_facts.hpp"
#include "headgauge/headgauge.hpp"
#include "phantom/phantom.hpp"
#include "small_models.hpp"

namespace headgauge {
namespace {

std::unique_ptr<ModelSource> open_plain(int documents = 1, int threads = 0,
                                        std::size_t variant_bytes = 1 << 30) {
  std::vector<int> tokens = testing::made_ids(96, 3);
  std::vector<Document> texts;
  for (int d = 0; d < documents; ++d) {
    texts.push_back({"text", tokens, ""});
    std::rotate(tokens.begin(), tokens.begin() + 7, tokens.end());
  }
  return testing::open_model(texts, {.threads = threads, .variant_bytes = variant_bytes});
}

CompareOptions few_measures(const std::string& heads = "") {
  CompareOptions options;
  options.scan.lengths = {16, 96};
  options.scan.measure.top_n = {1, 5};
  options.scan.measure.temperatures = {1.0};
  options.scan.measure.critical_max = 10;
  options.scan.heads = heads;
  return options;
}

Results compared(HeadSource& source, CompareOptions options,
                 const std::vector<std::string>& normalizers) {
  options.normalizers = normalizers;
  return compare(source, options, make_interventions(options, source.info()));
}

std::vector<Intervention> interventions_of(const std::vector<std::string>& normalizers,
                                           const SourceInfo& info,
                                           CompareOptions options = few_measures()) {
  options.normalizers = normalizers;
  return make_interventions(options, info);
}

bool same_numbers(std::span<const double> a, std::span<const double> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

// The cells of a metric that are of the text.
LabelledArray of_text(const Results& results, const char* name) {
  const LabelledArray& metric = results.require_metric(name);
  return metric.has_dim(kOutcome) ? metric.sel(kOutcome, kText) : metric;
}

TEST(MakeInterventions, AreNamedAsTheirNormalizersAre) {
  const std::vector<std::string> normalizers = {"ssmax:s=0.43,b=0", "sparsemax", "topk:k=3",
                                                "asentmax:alpha=1.5,delta=1,beta=2"};
  std::vector<std::string> labels;
  for (const Intervention& intervention : interventions_of(normalizers, open_plain()->info())) {
    labels.push_back(intervention.label);
  }
  EXPECT_EQ(labels, normalizers);
}

TEST(MakeInterventions, OnlyTheChosenHeadsChange) {
  const auto source = open_plain();
  const auto interventions = interventions_of({"sparsemax"}, source->info(), few_measures("1.0"));
  const HeadInterventions& made = interventions.front().heads;
  ASSERT_EQ(made.layers(), source->info().layers);
  ASSERT_EQ(made.heads(), source->info().heads);
  made.each([](int layer, int head, const HeadIntervention& of_head) {
    EXPECT_EQ(of_head.changes(), layer == 1 && head == 0) << layer << "." << head;
  });
  EXPECT_EQ(first_changed_layer(made), 1);
  EXPECT_THROW(interventions_of({"topk", "topk"}, source->info()), UsageError);
  EXPECT_THROW(interventions_of({"topper"}, source->info()), UsageError);
  CompareOptions both = few_measures();
  both.patterns = {"window"};
  EXPECT_THROW(interventions_of({"topk"}, source->info(), both), UsageError);
}

TEST(Compare, RefusesWhatItCannotCompare) {
  const auto source = open_plain();
  const CompareOptions options = few_measures();
  const auto made = interventions_of({"topk"}, source->info());
  EXPECT_THROW(compare(*source, options, {}), UsageError);
  auto of_another = made;
  of_another[0].heads = {source->info().layers - 1, source->info().heads};
  EXPECT_THROW(compare(*source, options, of_another), UsageError);
  of_another[0].heads = {};
  EXPECT_THROW(compare(*source, options, of_another), UsageError);
  CompareOptions changed = options;
  changed.scan.pattern = "window:size=8";
  EXPECT_THROW(compare(*source, changed, made), UsageError);
  changed = options;
  changed.scan.normalizer = "sparsemax";
  EXPECT_THROW(compare(*source, changed, made), UsageError);
}

// The model as it is, under its own normalizer: every change is exactly 0, none is recommended.
TEST(Compare, ACopyOfTheModelIsNoIntervention) {
  for (const Each each : {Each::none, Each::head, Each::layer}) {
    CompareOptions options = few_measures();
    options.each = each;
    const Results results = compared(*open_plain(), options, {"softmax", "yarn:factor=1"});
    int changes = 0;
    for (const auto& [name, metric] : results.metrics) {
      if (!name.ends_with("_change") && name != "kl") continue;
      ++changes;
      ASSERT_TRUE(metric.has_dim("normalizer")) << name;
      for (const double value : metric.isel("normalizer", 1).values) {
        EXPECT_TRUE(std::isnan(value) || value == 0) << name << ": " << value;
      }
    }
    EXPECT_GT(changes, 20);
    EXPECT_TRUE(results.flags.empty());
    for (const SummaryLine& line : summarize_comparison(results)) {
      expect_no_part(line.text, "Recommended");
    }
  }
}

// Nor is a copy that differs by rounding.
TEST(Compare, RoundingIsNotRecommended) {
  for (const Each each : {Each::none, Each::head}) {
    CompareOptions options = few_measures();
    options.scan.measures = {"weights"};
    options.each = each;
    // Five documents give every change a standard error.
    const Results results = compared(*open_plain(5), options,
                                     {"softmax:t=0.9999999", "softmax:t=1.0000001", "topk:k=1000",
                                      "sink:b=-40", "softcap:c=1e6"});
    EXPECT_TRUE(results.flags.empty());
    for (const SummaryLine& line : summarize_comparison(results)) {
      expect_no_part(line.text, "Recommended");
    }
    // Normalizers that weigh alike are measured on the same rows.
    for (Index intervention = 1; intervention <= 5; ++intervention) {
      EXPECT_NEAR(results.at("entropy_with_sinks_change", {0, 0, intervention, 1}), 0, 1e-4);
    }
  }
}

TEST(Compare, InterventionsAreMeasuredOnTheSameRows) {
  CompareOptions options = few_measures();
  options.scan.measures = {"sensitivity"};
  const Results results = compared(*open_plain(), options, {"topk:k=1000", "ssmax"});
  for (Index head = 0; head < 2; ++head) {
    EXPECT_NEAR(results.at("jacobian_spectral_change", {0, head, 1, 1}), 0, 1e-6);
    EXPECT_NEAR(results.at("sensitivity", {0, head, 1, 0, 0}),
                results.at("sensitivity", {0, head, 0, 0, 0}), 1e-6);
  }
  const auto& rows = results.metric("jacobian_spectral")->rows;
  EXPECT_TRUE(std::ranges::all_of(rows, [&](auto r) { return r == rows[0] || r == rows[1]; }));
}

// One head by itself is computed by branching off the pass; the same head alone in a whole pass
// must give the same bits.
TEST(Compare, AHeadTriedByItselfIsThatHeadChanged) {
  const std::vector<std::string> specs = {"ssmax:s=2", "sigmoid", "cosine:g=3"};
  CompareOptions each = few_measures();
  each.each = Each::head;
  const Results tried = compared(*open_plain(2), each, specs);
  const SourceInfo info = open_plain()->info();
  for (int layer = 0; layer < info.layers; ++layer) {
    for (int head = 0; head < info.heads; ++head) {
      const std::string name = std::to_string(layer) + "." + std::to_string(head);
      const Results alone = compared(*open_plain(2), few_measures(name), specs);
      for (const char* metric : {"loss", "loss_change", "kl"}) {
        const LabelledArray of_tried = of_text(tried, metric), of_alone = of_text(alone, metric);
        for (Index intervention = 0; intervention < 4; ++intervention) {
          for (Index length = 0; length < 2; ++length) {
            EXPECT_EQ(of_tried({layer, head, intervention, length}),
                      of_alone({intervention, length}))
                << metric << " of " << name;
          }
        }
      }
      for (Index intervention = 1; intervention < 4; ++intervention) {
        EXPECT_GT(tried.at("kl", {layer, head, intervention, 1}), 1e-6) << name;
        // A head gets what it got before, so its own metrics are those of the changed model.
        EXPECT_EQ(tried.at("entropy_with_sinks", {layer, head, intervention, 1}),
                  alone.at("entropy_with_sinks", {layer, head, intervention, 1}));
        EXPECT_EQ(tried.at("output_change", {layer, head, intervention, 1}),
                  alone.at("output_change", {layer, head, intervention, 1}));
      }
    }
  }
}

// Variants beyond what memory allows at a time go up after the first ones did.
TEST(Compare, VariantsInSeveralTurnsAreThoseOfOne) {
  CompareOptions each = few_measures();
  each.each = Each::head;
  each.scan.measures = {"weights"};
  const std::vector<std::string> specs = {"ssmax:s=2", "sparsemax"};
  const Results once = compared(*open_plain(), each, specs);
  const Results turns = compared(*open_plain(1, 0, 1), each, specs);
  for (const char* metric : {"loss", "loss_change", "kl"}) {
    EXPECT_TRUE(same_numbers(once.metric(metric)->values, turns.metric(metric)->values)) << metric;
  }
}

TEST(Compare, ALayerTriedByItselfIsThatLayerChanged) {
  CompareOptions each = few_measures();
  each.each = Each::layer;
  const Results tried = compared(*open_plain(), each, {"sparsemax"});
  for (int layer = 0; layer < open_plain()->info().layers; ++layer) {
    const Results alone =
        compared(*open_plain(), few_measures(std::to_string(layer) + ".*"), {"sparsemax"});
    EXPECT_EQ(tried.at("loss_change", {layer, 1, 0, 1}), alone.at("loss_change", {1, 0, 1}));
    EXPECT_EQ(tried.at("kl", {layer, 1, 1}), alone.at("kl", {1, 1}));
  }
}

// Layers before the first intervention are neither computed nor measured again: their statistics
// are taken over. A scan that begins at layer 0 must give the same.
TEST(Compare, WhatDoesNotChangeIsTakenOver) {
  const CompareOptions options = few_measures("1.1");
  const auto source = open_plain();
  const auto interventions = interventions_of({"entmax"}, source->info(), options);
  const Results results = compare(*source, options, interventions);
  EXPECT_EQ(source->first_layer(), 1);

  const auto whole = open_plain();
  whole->intervene(interventions.front().heads);
  EXPECT_EQ(whole->first_layer(), 0);
  ScanOptions scan_options = options.scan;
  scan_options.heads.clear();
  scan_options.measure.sampled_sensitivity = true;  // as under entmax
  const Results scanned = scan(*whole, scan_options);
  int metrics = 0;
  for (const auto& [name, metric] : scanned.metrics) {
    const LabelledArray* both = results.metric(name);
    ASSERT_NE(both, nullptr) << name;
    if (name == "loss") continue;
    const LabelledArray changed = both->isel("normalizer", 1);
    EXPECT_TRUE(same_numbers(changed.values, metric.values)) << name;
    for (const auto part : {&LabelledArray::low, &LabelledArray::high, &LabelledArray::p}) {
      EXPECT_TRUE(std::ranges::equal(changed.*part, metric.*part, same)) << name;
    }
    ++metrics;
  }
  EXPECT_GT(metrics, 40);
}

TEST(Compare, SameBitsOnAnyNumberOfThreads) {
  CompareOptions options = few_measures();
  options.each = Each::head;
  options.scan.threads = 1;
  const std::vector<std::string> specs = {"entmax", "sigmoid"};
  const Results one = compared(*open_plain(1, 1), options, specs);
  options.scan.threads = 5;
  const Results five = compared(*open_plain(1, 5), options, specs);
  testing::expect_same_values(five, one);
  EXPECT_EQ(one.metrics.size(), five.metrics.size());
}

TEST(Compare, PatternsHaveTheirOwnDimension) {
  CompareOptions options = few_measures();
  options.patterns = {"window:size=8", "window:size=96"};
  EXPECT_THROW(compared(*open_plain(), options, {}), UsageError) << "one keeps all keys";
  options.own_patterns = {make_pattern(options.patterns.back())};
  options.patterns.pop_back();
  const Results results = compared(*open_plain(), options, {});
  EXPECT_EQ(results.settings["pattern"], (std::vector<std::string>{"window:size=8", "window"}));
  EXPECT_TRUE(results.settings["normalizer"].empty());
  EXPECT_EQ(results.metric("kept_mass")->dim_names(),
            (std::vector<std::string>{"layer", "head", "pattern", "length"}));
  // A window of the whole text hides nothing.
  EXPECT_EQ(results.at("loss_change", {2, 0, 1}), 0);
  EXPECT_NEAR(results.at("kept_mass", {0, 0, 2, 1}), 1, 1e-6);
  EXPECT_EQ(results.at("queries_losing_keys", {0, 0, 2, 1}), 0);
  EXPECT_NEAR(results.at("queries_losing_keys", {0, 0, 1, 1}), 88.0 / 96, 1e-12);
  EXPECT_LT(results.at("kept_mass", {0, 0, 1, 1}), 0.9);
  EXPECT_GT(results.at("kl", {1, 1}), 0);
  EXPECT_GT(results.at("output_change", {0, 0, 1, 1}), 0);
  EXPECT_LT(results.at("visible_keys", {0, 0, 1, 1}), 8.01);
  double equal = 0;  // the entropy of equal weights on the kept keys, mean over the rows
  for (int t = 1; t <= 96; ++t) equal += std::log(std::min(t, 8)) / 96;
  EXPECT_NEAR(results.at("entropy_deficit", {0, 0, 1, 1}),
              equal - results.at("entropy_with_sinks", {0, 0, 1, 1}), 1e-5);
  EXPECT_GT(results.at("entropy_deficit_random", {0, 0, 1, 1}), 0);
  for (const char* name : {"entropy_deficit", "entropy_deficit_random"}) {
    EXPECT_NEAR(results.at(name, {0, 0, 2, 1}), results.at("entropy_deficit", {0, 0, 0, 1}), 1e-5);
  }
}

TEST(Compare, OnAStopTheFinishedInterventionsAreThere) {
  std::stop_source stop;
  stop.request_stop();
  const auto source = open_plain();
  const CompareOptions options = few_measures();
  const auto interventions = interventions_of({"topk"}, source->info());
  const Results results = compare(*source, options, interventions, nullptr, stop.get_token());
  EXPECT_TRUE(results.partial);
  EXPECT_EQ(results.layers_done, 0);
  EXPECT_EQ(results.coord_size("normalizer"), 1);
}

// Heads of a phantom put nothing out that the loss could gain from.
TEST(Compare, NothingIsRecommendedForThePhantom) {
  const testing::TemporaryFolder temporary("compare-phantom");
  const std::string folder = temporary.path();
  write_phantom(folder, 10);
  // Five documents: their means have a standard error, which here is 0.
  std::vector<Document> documents(5);
  for (int d = 0; d < 5; ++d) {
    for (int i = 0; i < 128; ++i) documents[d].tokens.push_back((7 * i * i + (5 + d) * i) % 128);
  }
  for (const Each each : {Each::none, Each::head}) {
    const auto source = make_model_source(resolve_model(folder), documents, {});
    CompareOptions options = few_measures();
    options.scan.lengths = {128};
    options.scan.measures = {"weights"};
    options.each = each;
    const Results results =
        compared(*source, options, {"ssmax", "sparsemax", "softmax1", "topk:k=2", "sigmoid"});
    EXPECT_TRUE(results.flags.empty());
    const auto lines = summarize_comparison(results);
    ASSERT_FALSE(lines.empty());
    testing::expect_facts_are_in_the_results(results, lines);
    const std::string& last = lines.back().text;
    expect_no_part(last, "too few blocks");
    expect_part(last, "No recommendation");
    expect_part(lines.back().means, "docs/training.md");
  }
}

}  // namespace
}  // namespace headgauge
