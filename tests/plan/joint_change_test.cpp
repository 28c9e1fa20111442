#include "plan/joint_change.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <set>

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
  EXPECT_NEAR(mean(change), expected.at("loss_change", {1, 0, 0}), 1e-12);
  EXPECT_NE(mean(change), 0);
}

TEST(JointChange, HasTheSameBitsAfterOtherPlans) {
  const auto source = tiny_source(2);
  Evaluations known;
  JointChange loss(*source, "search", known, {});
  const PerHead<HeadPlan> base = mixed(source->info());
  std::vector<PerHead<HeadPlan>> variants(5, base);
  variants[0](0, 0) = {};                              // back to full attention
  variants[1](0, 0) = {"window:size=3", ""};           // another pattern
  variants[2](0, 1) = {"", "softmax:t=2"};             // a head that was as it is
  variants[3](1, 1) = {"sinks:sinks=2,window=6", ""};  // a pattern in place of a normalizer
  variants[4](1, 0) = {"window:size=3", "uniform"};
  const Judged before = loss.change(base);
  for (std::size_t v = 0; v < variants.size(); ++v) {
    const auto fresh = tiny_source(2);
    Evaluations other;
    JointChange alone(*fresh, "search", other, {});
    const Judged change = loss.change(variants[v]);
    EXPECT_EQ(change, alone.change(variants[v])) << v;
    EXPECT_NE(change.text, before.text) << v;
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
  const auto lost = [](const ByDocument& rises) {
    double sum = 0;
    for (const double rise : rises) sum += std::max(rise, 0.0);
    return sum / static_cast<double>(rises.size());
  };
  EXPECT_TRUE(std::ranges::any_of(change.replay, [](double rise) { return rise < 0; }) ||
              std::ranges::any_of(change.answers[0], [](double rise) { return rise < 0; }))
      << "otherwise this shows less";
  EXPECT_DOUBLE_EQ(loss.cost(change), mean(change.text) + lost(change.replay) +
                                          lost(change.answers[0]) + lost(change.answers[1]));

  loss.judge_only(false, {"second"});
  const Judged less = loss.change(plan);
  EXPECT_TRUE(less.replay.empty());
  ASSERT_EQ(less.answers.size(), 1U);
  EXPECT_EQ(less.answers[0], change.answers[1]);
  EXPECT_DOUBLE_EQ(loss.cost(less), mean(change.text) + lost(change.answers[1]));
}

// What loses four times as much as the text when little of the context is seen counts half.
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
  const auto weighed = [&](ByDocument rises, const ByDocument& at_stake) {
    for (double& rise : rises) rise = rise > 0 ? rise : 0;
    return 2 * stake(lost.text) / stake(at_stake) * mean(rises);
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

TEST(JointChange, WeighsAsAnotherSetThatHasTheTasksInAnotherOrder) {
  const auto texts = tiny_source(2), others = tiny_source(2, 5);
  const auto cases = four_cases();
  const auto turned = testing::tiny_model(
      {make_case(std::vector<int>(30, 9), std::vector{1, 7}, {.task = "second"}, "cases"),
       make_case(std::vector<int>(30, 8), std::vector{2, 7}, {.task = "first"}, "cases")});
  Evaluations known;
  JointChange check({*texts, cases.get(), 20}, "check", known, {});
  JointChange search({*others, turned.get(), 20}, "search", known, {});
  ASSERT_NE(search.tasks(), check.tasks());
  const SourceInfo& info = texts->info();
  check.weigh_by({info.layers, info.kv_heads, {"window:size=1", ""}});
  const auto weights = check.weights();
  ASSERT_NE(weights["answers"]["first"], weights["answers"]["second"]);
  search.weigh_as(check);
  EXPECT_EQ(search.weights()["replay"], weights["replay"]);
  for (const std::string& task : check.tasks()) {
    EXPECT_EQ(search.weights()["answers"][task], weights["answers"][task]) << task;
  }
}

// Samples visit each text once in a round, and the second is far from the first.
TEST(JointChange, SamplesStepThroughTheTexts) {
  constexpr int kTexts = 5, kSecond = 3;
  const auto texts = tiny_source(kTexts);
  Evaluations known, of_one;
  JointChange loss(*texts, "search", known, {});
  const std::vector<HeadPlan> choices = {{}, {"window:size=6", ""}};
  const SourceInfo& info = texts->info();
  const PerHead<std::vector<double>> gates(info.layers, info.kv_heads, {0.5, 0.5});
  std::vector<std::vector<double>> found;
  for (int k = 0; k <= kTexts; ++k) {
    found.push_back(loss.gradients_on_sample(choices, {gates}, k).front()(1, 0));
    if (k == kTexts) break;
    EXPECT_EQ(std::ranges::count(found, found.back()), 1) << k;
  }
  EXPECT_EQ(found.back(), found.front());
  std::vector<Document> second(1);
  second.front().tokens = testing::made_ids(96, 3 + kSecond, kSecond);
  const auto alone = testing::tiny_model(second);
  JointChange loss_of_one(*alone, "search", of_one, {});
  EXPECT_EQ(loss_of_one.gradients_on_sample(choices, {gates}, 0).front()(1, 0), found[1]);
}

// The cases of all tasks are visited before any is visited again.
TEST(JointChange, SamplesTakeTheTasksInTurn) {
  const auto texts = tiny_source(1);
  std::vector<Document> two_of_each;
  for (int c = 0; c < 4; ++c) {
    two_of_each.push_back(make_case(std::vector<int>(30, 5 + c), std::vector{c, 7},
                                    {.task = c < 2 ? "first" : "second"}, "cases"));
  }
  const auto cases = testing::tiny_model(two_of_each);
  Evaluations known;
  JointChange loss({*texts, cases.get()}, "search", known, {});
  const SourceInfo& info = texts->info();
  const PerHead<std::vector<double>> gates(info.layers, info.kv_heads, {0, 1});
  const std::vector<HeadPlan> choices = {{}, {"window:size=1", ""}};
  std::vector<std::vector<double>> found;
  for (int k = 0; k < 4; ++k) {
    found.push_back(loss.gradients_on_sample(choices, {gates, gates}, k).back()(1, 0));
  }
  EXPECT_EQ(std::set(found.begin(), found.end()).size(), 4);
  // The second sample has the first case of the other task, which counts for both.
  const auto of_second = testing::tiny_model({two_of_each[2]});
  Evaluations of_one;
  JointChange alone({*texts, of_second.get()}, "search", of_one, {});
  std::vector<double> twice = alone.gradients_on_sample(choices, {gates, gates}, 0).back()(1, 0);
  for (double& by_gate : twice) by_gate *= 2;
  EXPECT_EQ(found[1], twice);
}

// Documents of a model whose key-value heads have three query heads each.
std::unique_ptr<ModelSource> grouped(std::vector<Document> documents) {
  return testing::open_model(std::move(documents), {.threads = 1},
                             "tests/golden/llama/llama-plain");
}

// What the model loses under gates, by document.
std::vector<std::vector<double>> losses_under(ModelSource& source, const GatedHeads& gated) {
  std::vector<int> documents(source.info().documents.size());
  std::iota(documents.begin(), documents.end(), 0);
  const Differentiated none = {
      .weigh = [](int, const NextTokens& next) { return std::vector(next.losses.size(), 0.0); }};
  std::vector<std::vector<double>> losses;
  for (const Gradients& one : source.gradients(documents, gated, none)) {
    losses.push_back(one.next.losses);
  }
  return losses;
}

TEST(JointChange, GradientOfGatesIsThatOfTheCost) {
  constexpr Index kReplayed = 20;
  constexpr int kSample = 1;
  constexpr double kStep = 1.0 / 256;
  std::vector<Document> texts(2), cases;
  for (int d = 0; d < 2; ++d) {
    for (int i = 0; i < 80; ++i) texts[d].tokens.push_back((i % 60) * (i % 60 + d) % 31);
    const std::vector<int> prompt(texts[d].tokens.begin() + 3, texts[d].tokens.begin() + 33);
    cases.push_back(
        make_case(prompt, std::vector{d, 7}, {.task = d == 0 ? "first" : "second"}, "cases"));
  }
  const auto of_texts = grouped(texts), of_cases = grouped(cases);
  const SourceInfo& info = of_texts->info();
  ASSERT_EQ(info.heads, 3 * info.kv_heads);
  Evaluations known;
  JointChange loss({*of_texts, of_cases.get(), kReplayed}, "search", known, {});
  PerHead<HeadPlan> narrow(info.layers, info.kv_heads);
  narrow.each([](int, int, HeadPlan& head) { head = {"window:size=1", ""}; });
  loss.weigh_by(narrow);
  const auto weights = loss.weights();
  ASSERT_NE(weights["replay"], 1.0) << "otherwise this shows less";

  const std::vector<HeadPlan> choices = {{}, {"window:size=6", ""}, {"", "uniform"}};
  PerHead<std::vector<double>> gates(info.layers, info.kv_heads, {0.5, 0.3, 0.2});
  gates(0, 1) = {1, 0, 0};
  // A token counts only if its loss rises.
  double least = 0, fallen = 0;
  const auto lost = [&](std::span<const double> under, std::span<const double> own) {
    double sum = 0;
    for (std::size_t t = 0; t < under.size(); ++t) {
      sum += std::max(under[t] - own[t], least);
      fallen = std::min(fallen, under[t] - own[t]);
    }
    return sum / static_cast<double>(under.size());
  };
  std::vector<double> own_text;
  std::vector<std::vector<double>> own_answers;
  const auto cost_under = [&](const PerHead<std::vector<double>>& of_heads) {
    GatedHeads gated{{}, PerHead<std::vector<double>>(info.layers, info.heads)};
    for (const HeadPlan& choice : choices) {
      const PerHead<HeadPlan> all(info.layers, info.kv_heads, choice);
      gated.choices.push_back(make_interventions(all, info)(0, 0));
    }
    gated.gates.each(
        [&](int layer, int head, std::vector<double>& gate) { gate = of_heads(layer, head / 3); });
    const std::vector<double> read = losses_under(*of_texts, gated)[kSample];
    const auto answers = losses_under(*of_cases, gated);
    if (own_text.empty()) {
      own_text = read;
      own_answers = answers;
    }
    const auto judged = [](const std::vector<double>& losses) {
      return std::span(losses).last(kReplayed - kReplayCue);
    };
    double cost = mean({read.begin(), read.end() - kReplayed}) +
                  weights["replay"].get<double>() * lost(judged(read), judged(own_text));
    const std::size_t tasks = answers.size(), in_turn = kSample % tasks;
    const auto weight = weights["answers"][loss.tasks()[in_turn]].get<double>();
    return cost +
           static_cast<double>(tasks) * weight * lost(answers[in_turn], own_answers[in_turn]);
  };
  auto original = gates;
  original.each([](int, int, std::vector<double>& gate) { gate = {1, 0, 0}; });
  const double own_cost = cost_under(original);
  cost_under(gates);
  ASSERT_LT(fallen, -0.01) << "otherwise the clip by token is not seen";
  const auto gradients = loss.gradients_on_sample(choices, {gates, gates}, kSample);
  ASSERT_EQ(gradients.size(), 2) << "a text and a case";
  gradients.front().each([&](int layer, int head, const std::vector<double>&) {
    std::vector<double> by(choices.size());
    for (const auto& of_document : gradients) {
      for (std::size_t c = 0; c < choices.size(); ++c) by[c] += of_document(layer, head)[c];
    }
    for (std::size_t c = 0; c < choices.size(); ++c) {
      auto more = gates, less = gates;
      more(layer, head)[c] += kStep;
      less(layer, head)[c] -= kStep;
      const double slope = (cost_under(more) - cost_under(less)) / (2 * kStep);
      EXPECT_NEAR(by[c], slope, 5e-4 * (1 + std::abs(slope))) << layer << "." << head << " " << c;
    }
  });
  // Each document has its own gates.
  auto others = gates;
  others.each([](int, int, std::vector<double>& gate) { gate = {0.2, 0.2, 0.6}; });
  const auto mixed = loss.gradients_on_sample(choices, {gates, others}, kSample);
  EXPECT_EQ(mixed[0](1, 0), gradients[0](1, 0));
  EXPECT_NE(mixed[1](1, 0), gradients[1](1, 0));
  // Gates of 1 are a plan.
  least = -std::numeric_limits<double>::infinity();
  gates.each([](int, int, std::vector<double>& gate) { gate = {0, 1, 0}; });
  const PerHead<HeadPlan> plan(info.layers, info.kv_heads, choices[1]);
  const Judged change = loss.change(plan);
  double cost = change.text[kSample] + weights["replay"].get<double>() * change.replay[kSample];
  cost += 2 * weights["answers"]["second"].get<double>() * change.answers[1].front();
  EXPECT_NEAR(cost, cost_under(gates) - own_cost, 1e-5);
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
