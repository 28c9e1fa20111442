#include "plan/joint_change.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "headgauge/compare.hpp"
#include "headgauge/headgauge.hpp"
#include "plan/tiny_plan.hpp"

namespace headgauge {
namespace {

using testing::tiny_source;

PerHead<HeadPlan> mixed(const SourceInfo& info) {
  PerHead<HeadPlan> plan(info.layers, info.kv_heads);
  plan(0, 0) = {"sinks:sinks=2,window=6", ""};
  plan(1, 1) = {"", "uniform"};
  return plan;
}

TEST(JointChange, IsTheLossThatCompareFinds) {
  const auto source = tiny_source(2);
  Evaluations known;
  JointChange loss(*source, "search", known, {});
  const PerHead<HeadPlan> plan = mixed(source->info());
  const ByDocument change = loss.change(plan).text;
  ASSERT_EQ(change.size(), 2U);

  CompareOptions options;
  options.scan.measures = {"model"};
  options.scan.lengths = {96};
  Intervention intervention;
  intervention.label = "plan";
  intervention.heads = make_interventions(plan, source->info());
  const Results expected = compare(*source, options, std::vector{intervention});
  EXPECT_NEAR(mean(change), expected.at("loss_change", {1, 0}), 1e-12);
  EXPECT_NE(mean(change), 0);
}

TEST(JointChange, NearAPlanHasTheBitsOfTheWholePass) {
  const auto source = tiny_source(2);
  Evaluations known, other;
  JointChange near(*source, "search", known, {});
  const PerHead<HeadPlan> base = mixed(source->info());
  std::vector<PerHead<HeadPlan>> variants(5, base);
  variants[0](0, 0) = {};                              // back to full attention
  variants[1](0, 0) = {"window:size=3", ""};           // another pattern
  variants[2](0, 1) = {"", "softmax:t=2"};             // a head that was as it is
  variants[3](1, 1) = {"sinks:sinks=2,window=6", ""};  // a pattern in place of a normalizer
  variants[4](1, 0) = {"window:size=3", "uniform"};
  const auto changes = near.changes_near(base, variants);
  JointChange whole(*source, "search", other, {});
  for (std::size_t v = 0; v < variants.size(); ++v) {
    EXPECT_EQ(changes[v], whole.change(variants[v])) << v;
  }
}

// The second is of the task "second", the others are of "first".
auto four_cases() {
  std::vector<Document> documents;
  for (int c = 0; c < 4; ++c) {
    documents.push_back(make_case(std::vector<int>(30, 5 + c), std::vector{c, 7},
                                  {.task = c == 1 ? "second" : "first"}, "cases"));
  }
  return testing::tiny_model(documents);
}

TEST(JointChange, JudgesReplayAndAnswers) {
  constexpr Index kReplayed = 20;
  const auto texts = tiny_source(2);
  const auto cases = four_cases();
  Evaluations known, other;
  JointChange loss({*texts, cases.get(), kReplayed}, "search", known, {});
  const PerHead<HeadPlan> plan = mixed(texts->info());
  const Judged original = loss.original();
  const Judged change = loss.change(plan);
  EXPECT_EQ(loss.tasks(), (std::vector<std::string>{"first", "second"}));

  // The same from the predictions of the sources, which have just run under the plan.
  for (int d = 0; d < 2; ++d) {
    const std::vector<double> losses = texts->next_tokens(d).losses;
    ASSERT_EQ(losses.size(), 95U);
    EXPECT_NEAR(original.text[d] + change.text[d], mean({losses.begin(), losses.end() - kReplayed}),
                1e-12);
    EXPECT_NEAR(original.replay[d] + change.replay[d],
                mean({losses.end() - kReplayed + kReplayCue, losses.end()}), 1e-12);
  }
  const std::vector<std::vector<int>> of_task = {{0, 2, 3}, {1}};
  for (std::size_t t = 0; t < 2; ++t) {
    ASSERT_EQ(change.answers[t].size(), of_task[t].size());
    for (std::size_t c = 0; c < of_task[t].size(); ++c) {
      const NextTokens next = cases->next_tokens(of_task[t][c]);
      EXPECT_NEAR(original.answers[t][c] + change.answers[t][c], mean(next.losses), 1e-12);
      const bool right = next.right[0] == 1 && next.right[1] == 1;
      EXPECT_EQ(original.right[t][c] + change.right[t][c], right ? 1 : 0);
    }
  }
  const double parts =
      mean(change.text) + mean(change.replay) + mean(change.answers[0]) + mean(change.answers[1]);
  EXPECT_DOUBLE_EQ(loss.cost(change), parts);

  // A pass that changes one layer gives the same numbers.
  PerHead<HeadPlan> base = plan;
  base(1, 1) = {};
  JointChange near({*texts, cases.get(), kReplayed}, "search", other, {});
  EXPECT_EQ(near.changes_near(base, std::vector{plan}).front(), change);

  // A sample has the numbers of its documents.
  for (int k = 0; k < 4; ++k) {
    const auto at = static_cast<std::size_t>(k);
    const Judged sample = near.change_on_sample(plan, k);
    EXPECT_EQ(sample.text, ByDocument{change.text[at % 2]});
    EXPECT_EQ(sample.replay, ByDocument{change.replay[at % 2]});
    EXPECT_EQ(sample.answers, (std::vector<ByDocument>{{change.answers[0][at % 3]},  //
                                                       {change.answers[1][0]}}));
    EXPECT_EQ(sample.right, (std::vector<ByDocument>{{change.right[0][at % 3]},  //
                                                     {change.right[1][0]}}));
  }

  loss.judge_only(false, {"second"});
  const Judged less = loss.change(plan);
  EXPECT_TRUE(less.replay.empty());
  ASSERT_EQ(less.answers.size(), 1U);
  EXPECT_EQ(less.answers[0], change.answers[1]);
  EXPECT_DOUBLE_EQ(loss.cost(less), mean(change.text) + mean(change.answers[1]));
}

// What loses four times as much as the text when little of the context is seen counts a quarter.
TEST(JointChange, WeighsReplayAndAnswersByWhatIsAtStake) {
  const auto texts = tiny_source(2);
  const auto cases = four_cases();
  Evaluations known;
  JointChange loss({*texts, cases.get(), 20}, "search", known, {});
  PerHead<HeadPlan> narrow = mixed(texts->info());
  narrow.each([](int, int, HeadPlan& head) { head = {"window:size=1", ""}; });
  const Judged lost = loss.change(narrow);
  ASSERT_GT(mean(lost.answers[0]), 2 * mean(lost.text));
  const auto stake = [](const ByDocument& rises) {
    return std::max(mean(rises), JointChange::kLeastStake);
  };
  const Judged change = loss.change(mixed(texts->info()));
  const auto weighed = [&](const ByDocument& rises, const ByDocument& at_stake) {
    return stake(lost.text) / stake(at_stake) * mean(rises);
  };
  loss.weigh_by(narrow);
  EXPECT_NEAR(loss.cost(change),
              mean(change.text) + weighed(change.replay, lost.replay) +
                  weighed(change.answers[0], lost.answers[0]) +
                  weighed(change.answers[1], lost.answers[1]),
              1e-12);
  loss.judge_only(false, {"second"});
  const Judged less = loss.change(mixed(texts->info()));
  EXPECT_NEAR(loss.cost(less), mean(change.text) + weighed(change.answers[1], lost.answers[1]),
              1e-12);
}

std::unique_ptr<HeadSource> without_loss() {
  std::vector<Document> texts(2);
  for (int d = 0; d < 2; ++d) {
    for (int i = 0; i < 24; ++i) texts[d].tokens.push_back(5 + i * (d + 3) % 31);
  }
  return testing::open_model(std::move(texts), {.threads = 1}, "tests/golden/bert/plain");
}

TEST(JointChange, IsThatOfTheOutputWhereThereIsNoLoss) {
  const auto source = without_loss();
  Evaluations known, other;
  JointChange near(*source, "search", known, {});
  PerHead<HeadPlan> base(source->info().layers, source->info().kv_heads);
  EXPECT_EQ(near.change(base).text, (ByDocument{0, 0})) << "the model as it is";
  std::vector<PerHead<HeadPlan>> variants(3, base);
  variants[0](0, 1) = {"window:size=5", ""};
  variants[1](1, 0) = {"", "uniform"};
  const auto changes = near.changes_near(base, variants);
  EXPECT_EQ(changes[2].text, (ByDocument{0, 0}));
  EXPECT_GT(mean(changes[0].text), 0);
  EXPECT_LT(mean(changes[0].text), 2) << "layer norm holds the length of both";
  source->set_context(24);  // forgets the reference
  JointChange whole(*source, "search", other, {});
  for (std::size_t v = 0; v < variants.size(); ++v) {
    EXPECT_EQ(changes[v], whole.change(variants[v])) << v;
  }
}

// The journal has these losses under the key "search 1".
std::unique_ptr<Journal> journal_with(const std::string& folder,
                                      const std::vector<double>& losses) {
  auto journal = std::make_unique<Journal>();
  journal->open(folder, {{"command", "plan"}}, "--out");
  Evaluations(*journal).add("search 1", losses);
  journal->flush();
  journal = std::make_unique<Journal>();
  journal->open(folder, {{"command", "plan"}}, "--out");
  return journal;
}

TEST(Evaluations, AreFoundInTheJournal) {
  const testing::TemporaryFolder folder("evaluations");
  const std::vector<double> losses = {0.1, 1.0 / 3.0};
  const auto journal = journal_with(folder.path(), losses);
  Evaluations again(*journal);
  EXPECT_EQ(again.find("search 2", 2), nullptr);
  ASSERT_NE(again.find("search 1", 2), nullptr);
  EXPECT_EQ(*again.find("search 1", 2), losses);
  EXPECT_THROW(Evaluations(*journal).find("search 1", 3), DamagedPartError) << "of fewer documents";
}

TEST(Evaluations, NumbersHaveRanges) {
  for (const double wrong : {-1.0, kUndefined}) {
    const testing::TemporaryFolder folder("evaluations-ranges");
    const auto journal = journal_with(folder.path(), {0.5, wrong});
    EXPECT_THROW(Evaluations(*journal).find("search 1", 2), DamagedPartError) << wrong;
  }
}

}  // namespace
}  // namespace headgauge
