#include "scan/answers.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <numeric>
#include <random>

#include "headgauge/headgauge.hpp"
#include "small_models.hpp"

namespace headgauge {
namespace {

std::vector<int> tokens_of(int length, int seed) {
  return testing::made_ids(length, seed, 7 * seed);
}

std::vector<Document> texts() {
  return {make_document(tokens_of(64, 1), "a"), make_document(tokens_of(50, 2), "b")};
}

// Two cases of a task with a control each, and one of another task without a control.
std::vector<Document> cases(int first) {
  std::vector<Document> found;
  found.push_back(make_case(tokens_of(30, 3), std::vector<int>{5, 6},
                            {.task = "near", .distance = 9}, "tasks"));
  found.push_back(
      make_case(tokens_of(33, 4), std::vector<int>{8}, {.task = "near", .distance = 16}, "tasks"));
  found.push_back(make_case(tokens_of(20, 5), std::vector<int>{1, 2, 3}, {.task = "far"}, "tasks"));
  found.push_back(make_case(tokens_of(30, 6), std::vector<int>{5, 6},
                            {.task = "near", .distance = 9, .control_of = first}, "tasks"));
  found.push_back(make_case(tokens_of(33, 7), std::vector<int>{8},
                            {.task = "near", .distance = 16, .control_of = first + 1}, "tasks"));
  return found;
}

std::unique_ptr<ModelSource> open_demo(std::vector<Document> documents) {
  return testing::open_model(std::move(documents), {.threads = 1}, "demo/model");
}

std::vector<Document> joined(std::vector<Document> documents, const std::vector<Document>& more) {
  documents.insert(documents.end(), more.begin(), more.end());
  return documents;
}

// Returns the losses of the last tokens of a document as those of a text.
std::vector<double> last_losses(const Document& document) {
  Document plain = make_document(document.tokens, "plain");
  const auto source = open_demo({std::move(plain)});
  for (int layer = 0; layer < source->info().layers; ++layer) source->layer(layer, 0);
  const std::vector<double> all = source->next_tokens(0).losses;
  return {all.end() - document.answer.tokens, all.end()};
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

ScanOptions some_groups() {
  ScanOptions options;
  options.measures = {"weights", "coverage", "distance", "model", "answers"};
  options.measure.top_n = {1, 4};
  return options;
}

TEST(Answers, AreThoseOfTheSameDocumentAsAText) {
  const std::vector<Document> of_task = cases(2);
  const auto source = open_demo(joined(texts(), of_task));
  const Results results = scan(*source, some_groups());
  const Index longest = results.coord_size("length") - 1;
  const LabelledArray loss = results.require_metric(metric::loss).isel("length", longest);
  EXPECT_EQ(outcomes_of(results), (std::vector<std::string>{kText, "near", "far"}));
  const double first = mean(last_losses(of_task[0])), second = mean(last_losses(of_task[1]));
  EXPECT_NEAR(loss({1}), (first + second) / 2, 1e-9);
  EXPECT_NEAR(loss.standard_error[1], std::abs(first - second) / 2, 1e-9);
  EXPECT_EQ(loss.rows[1], 2);
  EXPECT_NEAR(loss({2}), mean(last_losses(of_task[2])), 1e-9);
  const LabelledArray& gain = results.require_metric(metric::answer_gain);
  const double gained =
      (mean(last_losses(of_task[3])) - first + mean(last_losses(of_task[4])) - second) / 2;
  EXPECT_NEAR(gain({1}), gained, 1e-9);
  EXPECT_TRUE(std::isnan(gain({2}))) << "there is no control";
  EXPECT_EQ(results.require_metric(metric::does_task)({2}), 0);
}

TEST(Answers, ChangeNothingElseOfAScan) {
  const auto alone = open_demo(texts());
  const auto beside = open_demo(joined(texts(), cases(2)));
  ScanOptions options = some_groups();
  const Results with_cases = testing::of_text(scan(*beside, options));
  std::erase(options.measures, "answers");
  const Results without = scan(*alone, options);
  EXPECT_EQ(with_cases.coord_numbers("length").back(), without.coord_numbers("length").back());
  testing::expect_same_values(with_cases, without);
  EXPECT_EQ(with_cases.text.names, without.text.names);
  ASSERT_EQ(with_cases.text.tasks.size(), 2u);
  EXPECT_EQ(with_cases.text.tasks[0].controls, 2);
}

TEST(Answers, HeadsAreMeasuredOnCasesIfThereIsNoText) {
  const std::vector<Document> of_task = cases(0);
  const auto source = open_demo(of_task);
  std::vector<Document> plain;
  for (int d = 0; d < 3; ++d) plain.push_back(make_document(of_task[d].tokens, "plain"));
  ScanOptions options = some_groups();
  options.lengths = {16};
  const Results results = scan(*source, options);
  const Results expected = scan(*open_demo(plain), options);
  EXPECT_EQ(results.require_metric(metric::entropy_with_sinks).values,
            expected.require_metric(metric::entropy_with_sinks).values);
  EXPECT_EQ(outcomes_of(results), (std::vector<std::string>{"near", "far"}))
      << "only the answers are predicted";
  EXPECT_EQ(results.text.names.size(), 3u);
}

// A source that only has cases.
SourceInfo info_of(std::vector<MarkedAnswer> answers, std::vector<Index> lengths) {
  SourceInfo info;
  info.answers = std::move(answers);
  info.documents = std::move(lengths);
  return info;
}

NextTokens answer(std::vector<double> losses, std::vector<std::uint8_t> right) {
  return {.losses = std::move(losses), .right = std::move(right)};
}

TEST(Answers, AreGroupedByDistanceAndContext) {
  const SourceInfo info = info_of({{.task = "t", .tokens = 1, .distance = 64},
                                   {.task = "t", .tokens = 1, .distance = 127},
                                   {.task = "t", .tokens = 1, .distance = 128},
                                   {.task = "t", .tokens = 1}},
                                  {512, 513, 256, 512});
  const TaskSet tasks(info);
  Results results;
  results.set_coord("length", std::vector<double>{9});
  tasks.write_coords(results);
  EXPECT_EQ(labels_text(results.require_coord("source_distance").labels()), "64-127, 128-255");
  EXPECT_EQ(labels_text(results.require_coord("context").labels()), "129-256, 257-512, 513-1024");
  AnswerMetrics metrics(tasks, {}, true, results);
  metrics.put({}, {answer({1}, {1}), answer({3}, {0}), answer({7}, {1}), answer({11}, {1})});
  EXPECT_EQ(results.require_metric(metric::answer_loss_by_distance).values,
            (std::vector<double>{2, 7}));
  EXPECT_EQ(results.require_metric(metric::answer_right_by_distance).values,
            (std::vector<double>{0.5, 1}));
  EXPECT_EQ(results.require_metric(metric::answer_loss_by_context).values,
            (std::vector<double>{7, 6, 3}));
  EXPECT_DOUBLE_EQ(results.require_metric(metric::answer_right)({0}), 0.75);
  EXPECT_GT(results.require_metric(metric::answer_right).at({0}).low, 0.15);
  EXPECT_LT(results.require_metric(metric::answer_right).at({0}).high, 1);
}

// Two cases of one task, whose answers have `tokens` tokens each.
Results changed_answers(int tokens, const Predictions& original, const Predictions& changed) {
  const SourceInfo info =
      info_of({{.task = "t", .tokens = tokens}, {.task = "t", .tokens = tokens}}, {9, 9});
  const TaskSet tasks(info);
  Results results;
  results.set_coord("length", std::vector<double>{9});
  tasks.write_coords(results);
  AnswerMetrics metrics(tasks, {}, false, results);
  metrics.add_changes({});
  metrics.put({}, changed);
  metrics.put_change({}, original, changed);
  return results;
}

TEST(Answers, AreRightIfAllTokensAre) {
  const Results results = changed_answers(2, {answer({1, 2}, {1, 1}), answer({4, 4}, {1, 1})},
                                          {answer({2, 5}, {1, 0}), answer({4, 6}, {1, 1})});
  EXPECT_DOUBLE_EQ(results.require_metric(metric::answer_right)({0}), 0.5);
  EXPECT_DOUBLE_EQ(results.require_metric(metric::answers_kept)({0}), 0.5);
  EXPECT_DOUBLE_EQ(results.require_metric(metric::loss_change)({0, 0}), 1.5);
  EXPECT_DOUBLE_EQ(results.require_metric(metric::loss_change).standard_error[0], 0.5);
}

TEST(Answers, AnswersKeptCountsOnlyThoseThatWereRight) {
  const Results results = changed_answers(1, {answer({1}, {0}), answer({1}, {1})},
                                          {answer({1}, {1}), answer({1}, {0})});
  EXPECT_DOUBLE_EQ(results.require_metric(metric::answers_kept)({0}), 0);
  EXPECT_EQ(results.require_metric(metric::answers_kept).rows[0], 1);
}

// At most 5 % of the models that do not use the source are said to do one of two tasks.
TEST(Answers, ATaskIsSeldomDoneWithoutAGain) {
  constexpr int kCases = 12, kTrials = 2000;
  std::vector<MarkedAnswer> answers;
  for (int c = 0; c < 2 * kCases; ++c) {
    answers.push_back({.task = c % 2 == 0 ? "a" : "b", .tokens = 1});
  }
  for (int c = 0; c < 2 * kCases; ++c) {
    answers.push_back({.task = c % 2 == 0 ? "a" : "b", .tokens = 1, .control_of = c});
  }
  const SourceInfo info = info_of(answers, std::vector<Index>(answers.size(), 8));
  const TaskSet tasks(info);
  std::mt19937 random(11);
  std::normal_distribution<double> noise(3, 1);
  int found = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    Predictions predictions;
    for (std::size_t d = 0; d < answers.size(); ++d) {
      predictions.push_back(answer({noise(random)}, {1}));
    }
    Results results;
    tasks.write_coords(results);
    write_controls(tasks, predictions, results);
    const std::vector<double>& done = results.require_metric(metric::does_task).values;
    found += done[0] == 1 || done[1] == 1 ? 1 : 0;
  }
  const double three_errors = 3 * std::sqrt(0.05 * 0.95 / kTrials);
  EXPECT_NEAR(static_cast<double>(found) / kTrials, 0.05, three_errors);
}

// Six cases, `right` of which are answered right, with or without their controls.
Results six_cases(int right, bool controls) {
  std::vector<MarkedAnswer> answers(6, {.task = "t", .tokens = 1});
  Predictions predictions;
  for (int c = 0; c < 6; ++c) {
    predictions.push_back(answer({c % 2 == 0 ? 0.9 : 1.1}, {std::uint8_t(c < right ? 1 : 0)}));
  }
  for (int c = 0; controls && c < 6; ++c) {
    answers.push_back({.task = "t", .tokens = 1, .control_of = c});
    predictions.push_back(answer({5}, {0}));
  }
  const TaskSet tasks(info_of(answers, std::vector<Index>(answers.size(), 8)));
  Results results;
  results.set_coord("length", std::vector<double>{9});
  tasks.write_coords(results);
  write_controls(tasks, predictions, results);
  return results;
}

TEST(Answers, ATaskIsDoneIfItsSourceHelps) {
  const auto done = [](const Results& results) {
    return results.require_metric(metric::does_task)({0});
  };
  const Results all = six_cases(6, true);
  EXPECT_DOUBLE_EQ(done(all), 1);
  EXPECT_DOUBLE_EQ(all.require_metric(metric::answer_gain)({0}), 4);
  EXPECT_DOUBLE_EQ(done(six_cases(0, true)), 1) << "a gain without right answers";
  EXPECT_DOUBLE_EQ(done(six_cases(6, false)), 1) << "without controls, right answers count";
  EXPECT_DOUBLE_EQ(done(six_cases(1, false)), 0) << "neither controls nor right answers";
  EXPECT_TRUE(std::isnan(six_cases(6, false).require_metric(metric::answer_gain)({0})));
}

TEST(Answers, WithoutWhatIsRightAreUndefined) {
  const TaskSet tasks(info_of({{.task = "t", .tokens = 1}}, {9}));
  Results results;
  results.set_coord("length", std::vector<double>{9});
  tasks.write_coords(results);
  AnswerMetrics(tasks, {}, false, results).put({}, {answer({1}, {})});
  EXPECT_TRUE(std::isnan(results.require_metric(metric::answer_right)({0})));
}

}  // namespace
}  // namespace headgauge
