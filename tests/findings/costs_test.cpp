// What smaller caches are said to cost, on results made by hand and drawn at random.
#include "findings/costs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "headgauge/cells.hpp"
#include "headgauge/metric_names.hpp"

namespace headgauge {
namespace {

struct Tried {
  std::string label;
  double rise, error;
  Index right, kept;  // answers of the unchanged model, and those of them that are kept
};

Results of(const std::vector<Tried>& changes, double does_task = 1) {
  Results r;
  std::vector<std::string> labels = {"original"};
  for (const Tried& change : changes) labels.push_back(change.label);
  r.set_coord("pattern", labels);
  r.set_coord("length", std::vector<double>{64});
  r.set_coord(kOutcome, std::vector<std::string>{kText, "passkey"});
  LabelledArray& rise = r.add_metric(metric::loss_change_lost_keys, {"pattern", "length"}, "nats");
  rise.with_standard_errors().with_rows();
  LabelledArray& kept = r.add_metric(metric::answers_kept, {"pattern", kOutcome}, "1").with_rows();
  r.add_metric(metric::does_task, {kOutcome}, "1").values = {kUndefined, does_task};
  r.text.tasks = {{.task = "passkey", .shortest = 64, .tokens = 64}};
  for (Index k = 1; k < std::ssize(labels); ++k) {
    const Tried& change = changes[static_cast<std::size_t>(k) - 1];
    rise.set({k, 0}, {change.rise, change.error, 16, 15});
    const double share = static_cast<double>(change.kept) / static_cast<double>(change.right);
    kept.set({k, 1}, {.value = share, .rows = change.right});
  }
  return r;
}

std::string said_of(const Results& results) {
  std::string said;
  for (const SummaryLine& line : cost_sentences(results, "pattern")) {
    EXPECT_TRUE(line.lead) << line.text;
    said += (said.empty() ? "" : " ") + line.text;
  }
  return said;
}

TEST(Costs, ALittleIsShownOnTextAndInAnswers) {
  EXPECT_EQ(said_of(of({{"sinks:sinks=4,window=28", 0.01, 0.01, 29, 29},
                        {"window:size=20", 0.01, 0.01, 28, 28},
                        {"window:size=19", 0.049, 0.01, 29, 29},
                        {"window:size=18", 0.01, 0.01, 29, 20},
                        {"window:size=17", 0.2, 0.01, 29, 29}})),
            "Shown to cost less than 0.05 nats for each token that loses keys and to keep at least "
            "90 % of the answers: first 4 and last 28. Shown to cost more: last 18; last 17. Not "
            "shown either way: last 20; last 19.");
}

TEST(Costs, NothingIsSaidOfAnswersThatTheModelItselfDoesNotGive) {
  const auto lines = cost_sentences(of({{"window:size=20", 0.01, 0.01, 29, 0}}, 0), "pattern");
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].text,
            "Shown to cost less than 0.05 nats for each token that loses keys: last 20.");
  EXPECT_EQ(lines[1].text,
            "Whether answers are kept is not shown: the model itself gives too few of them right.");
}

TEST(Costs, OfAnswersAloneAreJudgedByThem) {
  Results results = of({{"window:size=20", 0, 0, 29, 29}, {"window:size=19", 0, 0, 29, 9}});
  results.metrics.erase(std::ranges::find_if(results.metrics, [](const auto& metric) {
    return metric.first == metric::loss_change_lost_keys;
  }));
  EXPECT_EQ(said_of(results),
            "Shown to keep at least 90 % of the answers: last 20. Shown to cost more: last 19.");
}

TEST(Costs, WithoutAnErrorNothingIsShown) {
  EXPECT_EQ(said_of(of({{"window:size=20", 0.0, kUndefined, 29, 29}})),
            "No change is shown to cost less than 0.05 nats for each token that loses keys and to "
            "keep at least 90 % of the answers. Not shown either way: last 20.");
}

// A change that costs the margin itself is called cheap, or dear, as often as the level says.
TEST(Costs, AtTheMarginOneInTwentyIsWrong) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> row(0.05, 0.1);
  constexpr int kDraws = 4000, kRows = 16;
  int cheap = 0, dear = 0;
  for (int draw = 0; draw < kDraws; ++draw) {
    double sum = 0, squares = 0;
    for (int i = 0; i < kRows; ++i) {
      const double value = row(random);
      sum += value;
      squares += value * value;
    }
    const double mean = sum / kRows;
    const double error = std::sqrt((squares / kRows - mean * mean) / (kRows - 1));
    const std::string said = said_of(of({{"window:size=20", mean, error, 40, 40}}));
    cheap += said.starts_with("Shown to cost less") ? 1 : 0;
    dear += said.find("Shown to cost more") != said.npos ? 1 : 0;
  }
  EXPECT_NEAR(cheap, 0.05 * kDraws, 3 * std::sqrt(0.05 * 0.95 * kDraws));
  EXPECT_NEAR(dear, 0.05 * kDraws, 3 * std::sqrt(0.05 * 0.95 * kDraws));
}

}  // namespace
}  // namespace headgauge
