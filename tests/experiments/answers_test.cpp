// Answers of tasks in a comparison, against passes over the same documents as texts.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "headgauge/headgauge.hpp"
#include "small_models.hpp"

namespace headgauge {
namespace {

std::vector<int> tokens_of(int length, int seed) {
  return testing::made_ids(length, seed, 5 * seed);
}

std::vector<Document> texts() {
  return {make_document(tokens_of(96, 1), "text")};
}

std::vector<Document> cases(int first) {
  std::vector<Document> found;
  for (int c = 0; c < 3; ++c) {
    found.push_back(make_case(tokens_of(40 + c, 2 + c), std::vector<int>{c, c + 1},
                              {.task = "t", .distance = 20}, "tasks"));
  }
  for (int c = 0; c < 3; ++c) {
    found.push_back(make_case(tokens_of(40, 9 + c), std::vector<int>{c, c + 1},
                              {.task = "t", .distance = 20, .control_of = first + c}, "tasks"));
  }
  return found;
}

std::unique_ptr<ModelSource> open_plain(std::vector<Document> documents) {
  return testing::open_model(std::move(documents), {.threads = 1});
}

std::vector<Document> beside_texts() {
  std::vector<Document> documents = texts();
  for (Document& one : cases(1)) documents.push_back(std::move(one));
  return documents;
}

CompareOptions with_a_window(Each each) {
  CompareOptions options;
  options.scan.lengths = {16, 96};
  options.scan.measures = {"weights"};
  options.patterns = {"window:size=8"};
  options.each = each;
  return options;
}

Results compared(HeadSource& source, const CompareOptions& options) {
  return compare(source, options, make_interventions(options, source.info()));
}

// Returns the mean loss of the answer's tokens in a pass over the document as a text.
double loss_of(const Document& document, const HeadInterventions& changes) {
  const auto source = open_plain({make_document(document.tokens, "plain")});
  source->intervene(changes);
  for (int layer = 0; layer < source->info().layers; ++layer) source->layer(layer, 0);
  const std::vector<double> losses = source->next_tokens(0).losses;
  double sum = 0;
  for (Index t = 1; t <= document.answer.tokens; ++t) sum += losses[losses.size() - t];
  return sum / static_cast<double>(document.answer.tokens);
}

TEST(AnswersOfComparison, AreThoseOfPassesOverTheSameDocuments) {
  const auto source = open_plain(beside_texts());
  const CompareOptions options = with_a_window(Each::none);
  const auto interventions = make_interventions(options, source->info());
  const Results results = compared(*source, options);
  double before = 0, after = 0, control = 0;
  const std::vector<Document> of_task = cases(1);
  for (int c = 0; c < 3; ++c) {
    before += loss_of(of_task[c], {}) / 3;
    after += loss_of(of_task[c], interventions.front().heads) / 3;
    control += loss_of(of_task[3 + c], {}) / 3;
  }
  const LabelledArray& loss = results.require_metric(metric::loss);
  EXPECT_EQ(loss.dim_names(), (std::vector<std::string>{"pattern", kOutcome, "length"}));
  const Index longest = results.coord_size("length") - 1;
  EXPECT_NEAR(loss({0, 1, longest}), before, 1e-6);
  EXPECT_NEAR(loss({1, 1, longest}), after, 1e-6);
  EXPECT_NEAR(results.require_metric(metric::loss_change)({1, 1, longest}), after - before, 1e-6);
  EXPECT_GT(std::abs(after - before), 1e-3) << "the window must change something";
  EXPECT_NEAR(results.require_metric(metric::answer_gain)({1}), control - before, 1e-6);
}

TEST(AnswersOfComparison, OneHeadAtATimeAreThoseOfThatHeadAlone) {
  const auto source = open_plain(beside_texts());
  const CompareOptions options = with_a_window(Each::head);
  const auto interventions = make_interventions(options, source->info());
  const Results results = compared(*source, options);
  const LabelledArray& change = results.require_metric(metric::loss_change);
  EXPECT_EQ(change.dim_names(),
            (std::vector<std::string>{"layer", "head", "pattern", kOutcome, "length"}));
  const Index longest = results.coord_size("length") - 1;
  HeadInterventions alone(source->info().layers, source->info().heads);
  alone(1, 0) = interventions.front().heads(1, 0);
  double expected = 0;
  const std::vector<Document> of_task = cases(1);
  for (int c = 0; c < 3; ++c) {
    expected += (loss_of(of_task[c], alone) - loss_of(of_task[c], {})) / 3;
  }
  EXPECT_NEAR(change({1, 0, 1, 1, longest}), expected, 1e-6);
  EXPECT_GT(std::abs(expected), 1e-6);
}

TEST(AnswersOfComparison, ChangeNothingElse) {
  for (const Each each : {Each::none, Each::layer}) {
    const auto beside = open_plain(beside_texts());
    const auto alone = open_plain(texts());
    const Results with_cases = testing::of_text(compared(*beside, with_a_window(each)));
    const Results without = compared(*alone, with_a_window(each));
    testing::expect_same_values(with_cases, without);
  }
}

TEST(AnswersOfComparison, NeedNoText) {
  const auto source = open_plain(cases(0));
  CompareOptions options = with_a_window(Each::none);
  options.scan.lengths = {16};
  const Results results = compared(*source, options);
  EXPECT_EQ(std::ranges::count(outcomes_of(results), kText), 0);
  EXPECT_TRUE(std::isfinite(results.require_metric(metric::loss_change)({1, 0, 0})));
}

}  // namespace
}  // namespace headgauge
