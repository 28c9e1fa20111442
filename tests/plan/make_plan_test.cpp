// make_plan() on a tiny model: what it says is what was measured, on any number of threads, and
// after any number of stops.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <string_view>

#include "checkpoint/made_file.hpp"
#include "faults.hpp"
#include "headgauge/cells.hpp"
#include "headgauge/compare.hpp"
#include "headgauge/headgauge.hpp"
#include "plan/confirmation.hpp"
#include "plan/joint_change.hpp"
#include "plan/tasks.hpp"
#include "plan/tiny_plan.hpp"
#include "results/mean_of.hpp"
#include "statistics/student.hpp"

namespace headgauge {
namespace {

using testing::tiny_source;

struct Sources {
  std::unique_ptr<HeadSource> search, check, confirm;
  explicit Sources(int threads = 1)
      : search(tiny_source(3, 1, threads)),
        check(tiny_source(2, 2, threads)),
        confirm(tiny_source(4, 3, threads)) {}
  PlanTexts texts() const { return {*search, *check, *confirm}; }
};

PlanOptions small_options() {
  PlanOptions options;
  options.memory = 0.5;
  options.curve = {0.25};
  options.patterns = {"sinks:sinks=2,window=46", "sinks:sinks=2,window=22", "window:size=8"};
  options.random_plans = 5;
  return options;
}

void expect_same(const Results& a, const Results& b) {
  EXPECT_EQ(a.metrics.size(), b.metrics.size());
  testing::expect_same_values(b, a);
}

TEST(MakePlan, SaysWhatCompareMeasuresOnTheConfirmingTexts) {
  const Sources sources;
  const PlanResults made = make_plan(sources.texts(), small_options());
  const Results& results = made.results;
  EXPECT_EQ(results.command, Command::plan);
  ASSERT_EQ(made.plans.size(), 2U);
  EXPECT_EQ(made.plans[0].budget, "50 %");
  EXPECT_EQ(made.plans[1].budget, "25 %");
  CompareOptions options;
  options.scan.measures = {"model"};
  options.scan.lengths = {96};
  for (Index b = 0; b < 2; ++b) {
    const AttentionPlan& plan = made.plans[b].plan;
    const auto confirm = tiny_source(4, 3);
    const Results expected =
        compare(*confirm, options, std::vector{make_intervention(plan, options, *confirm, "plan")});
    const Estimate found = results.require_metric("planned_change").at({0, b, 0});
    const LabelledArray& change = expected.require_metric("loss_change");
    EXPECT_NEAR(found.value, change({1, 0, 0}), 1e-12);
    // Four documents are four batches of compare() too.
    EXPECT_NEAR(found.standard_error, change.at({1, 0, 0}).standard_error, 1e-12);
    EXPECT_EQ(found.degrees_of_freedom, 3);
    const Estimate same = results.require_metric("planned_same_token").at({0, b});
    EXPECT_NEAR(same.value, expected.at("same_token", {1, 0}), 1e-12);
    EXPECT_LT(same.value, 1) << "otherwise this shows nothing";
    const double share = results.at("planned_cache_share", {0, b});
    EXPECT_DOUBLE_EQ(share, cache_share(plan.heads, confirm->info(), 96));
    EXPECT_LE(share, b == 0 ? 0.5 : 0.25);
  }
}

// The cost on the check is the change of the loss of text where there is no replay and no answer.
TEST(MakePlan, ALargerShareIsNoWorseOnTheCheck) {
  int taken_over = 0;
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const Sources sources;
    PlanOptions options = small_options();
    options.memory = 0.75;
    options.curve = {0.5, 0.25};
    options.random_plans = 0;
    options.steps = 4;
    options.seed = seed;
    const Results results = make_plan(sources.texts(), options).results;
    const LabelledArray& change = results.require_metric("checked_change");
    for (Index b = 0; b < 2; ++b) {
      EXPECT_LE(change({b}), change({b + 1})) << seed;
      const auto said = results.coord_names("budget")[b] + ": the plan is that of";
      const bool taken = std::ranges::any_of(
          results.notices, [&](const std::string& one) { return one.starts_with(said); });
      EXPECT_EQ(taken, change({b}) == change({b + 1})) << seed;
      taken_over += taken;
    }
  }
  EXPECT_GT(taken_over, 0) << "otherwise this shows nothing";
}

TEST(MakePlan, RefusesSharesThatNoChoiceReaches) {
  const Sources sources;
  PlanOptions options = small_options();
  options.patterns = {"window:size=80"};
  options.normalizers = {"softmax"};
  testing::expect_error(ErrorKind::usage, {"PlanOptions::memory", "at least 0.8333"},
                        [&] { make_plan(sources.texts(), options); });
}

TEST(MakePlan, RivalsKeepNoMoreThanTheShare) {
  const Sources sources;
  const Results results = make_plan(sources.texts(), small_options()).results;
  const LabelledArray& share = results.require_metric("planned_cache_share");
  for (Index b = 0; b < 2; ++b) {
    for (Index m = 1; m < results.coord_size("method"); ++m) {
      if (results.coord_names("method")[m] == "heaviest keys") continue;  // an oracle
      if (std::isnan(share({m, b}))) continue;
      EXPECT_LE(share({m, b}), b == 0 ? 0.5 : 0.25) << m;
    }
  }
}

TEST(MakePlan, HasTheSameBitsOnAnyNumberOfThreads) {
  const Sources one(1), three(3);
  PlanOptions options = small_options();
  const Results first = make_plan(one.texts(), options).results;
  options.threads = 3;
  expect_same(first, make_plan(three.texts(), options).results);
}

// Asks for a stop after a number of updates.
class StopAfter final : public Progress {
 public:
  StopAfter(int updates, std::stop_source& stop) : left_(updates), stop_(stop) {}
  void update(std::string_view, double done, double total) override {
    EXPECT_GE(done, last_);
    EXPECT_LE(done, total);
    last_ = done;
    if (--left_ == 0) stop_.request_stop();
  }

 private:
  int left_;
  double last_ = 0;
  std::stop_source& stop_;
};

TEST(MakePlan, GoesOnWhereItWasStopped) {
  const testing::TemporaryFolder folder("plan");
  const Sources sources;
  const Results whole = make_plan(sources.texts(), small_options()).results;
  PlanOptions options = small_options();
  const auto make = [&](Progress* progress, const std::stop_token& stop) {
    Journal journal;
    journal.open(folder.path(), {{"command", "plan"}}, "--out");
    options.journal = journal;
    PlanResults made = make_plan(sources.texts(), options, progress, stop);
    journal.flush();
    return made;
  };
  int stops = 0;
  PlanResults made;
  do {
    std::stop_source stop;
    StopAfter progress(9, stop);
    made = make(&progress, stop.get_token());
    // Each run finds what those before it measured, so that nine updates come sooner and sooner.
    ASSERT_LT(++stops, 40);
    if (made.results.partial) options.random_plans = small_options().random_plans;
    if (stops == 3) break;
  } while (made.results.partial);
  EXPECT_TRUE(made.results.partial);
  EXPECT_TRUE(std::filesystem::exists(journal_path(folder.path(), {})));
  expect_same(whole, make(nullptr, {}).results);
}

TEST(MakePlan, AllowsARiseOnlyWhereItIsShown) {
  const Sources sources;
  PlanOptions options = small_options();
  options.memory.reset();
  options.allow = 1e-9;
  const PlanResults strict = make_plan(sources.texts(), options);
  EXPECT_EQ(strict.plans.front().budget, "rise of 1e-09");
  options.allow = 5;
  const PlanResults loose = make_plan(sources.texts(), options);
  const double few = loose.results.at("planned_cache_share", {0, 0});
  EXPECT_LT(few, strict.results.at("planned_cache_share", {0, 0}));
}

// Documents whose last 24 tokens repeat the first, and cases whose answers are 3 tokens.
struct Retrieval {
  static constexpr Index kReplayed = 24;
  std::unique_ptr<HeadSource> texts, cases;
  explicit Retrieval(int seed) : texts(replayed(seed)), cases(tiny_cases(seed)) {}
  PlanDocuments documents() const { return {*texts, cases.get(), kReplayed}; }

  static std::unique_ptr<HeadSource> replayed(int seed) {
    std::vector<Document> texts(3);
    for (int d = 0; d < 3; ++d) {
      std::vector<int>& tokens = texts[d].tokens;
      tokens = testing::made_ids(72, 5 + d, 7 * seed);
      const std::vector<int> first(tokens.begin(), tokens.begin() + kReplayed);
      tokens.insert(tokens.end(), first.begin(), first.end());
    }
    return testing::tiny_model(std::move(texts));
  }
  static std::unique_ptr<HeadSource> tiny_cases(int seed) {
    std::vector<Document> cases;
    for (int c = 0; c < 6; ++c) {
      std::vector<int> prompt(60, c + seed);
      cases.push_back(make_case(prompt, std::vector{1 + c, 2, 3},
                                {.task = c % 2 == 0 ? "even" : "odd"}, "cases"));
    }
    return testing::tiny_model(std::move(cases));
  }
};

TEST(MakePlan, SaysWhatReplayAndAnswersLose) {
  const Retrieval search(1), check(2), confirm(3);
  PlanOptions options = small_options();
  options.curve = {};
  const PlanTexts texts{search.documents(), check.documents(), confirm.documents(),
                        confirm.cases.get()};
  const PlanResults made = make_plan(texts, options);
  const Results& results = made.results;
  // The tiny model does neither task, and does not copy: neither may be judged.
  ASSERT_EQ(outcomes_of(results), (std::vector<std::string>{kText, "even", "odd"}));
  EXPECT_EQ(tasks_of(results), (std::vector<Index>{1, 2}));
  EXPECT_EQ(replay_of(results), std::nullopt);
  EXPECT_EQ(results.at("does_task", {1}), 0);
  EXPECT_FALSE(std::isnan(results.at("planned_change", {0, 0, 0})));
  EXPECT_TRUE(std::isnan(results.at("planned_change", {0, 0, 1})));
  std::string notices;
  for (const std::string& notice : results.notices) notices += notice + "\n";
  expect_part(notices, "the task even is not judged");
  expect_part(notices, "the replay is not judged");
}

// Gains of 1 and .2 nats are not shown to be above 0; the same gains in both sets are.
TEST(Replays, IsJudgedOnThePiecesOfBothSets) {
  const auto judged = [](ByDocument first, ByDocument again) {
    return Judged{.text = {}, .replay = std::move(again), .first_reading = std::move(first)};
  };
  const Judged gains = judged({3, 2.2}, {2, 2}), none = judged({}, {});
  EXPECT_FALSE(replays(gains, none));
  EXPECT_FALSE(replays(none, gains));
  EXPECT_TRUE(replays(gains, gains));
  const Judged sure = judged({3, 3.1}, {2, 2}), losses = judged({2, 1}, {3, 3});
  EXPECT_TRUE(replays(sure, none));
  EXPECT_FALSE(replays(sure, losses));
}

std::vector<int> prompt_of(int seed, int number) {
  return testing::made_ids(60, number + 2, 11 * seed);
}

// Returns the losses of every token as the answer to a prompt.
std::vector<double> losses_after(const std::vector<int>& prompt) {
  std::vector<Document> tried;
  for (int token = 0; token < 41; ++token) {
    tried.push_back(make_case(prompt, std::vector{token}, {.task = "any"}, "tried"));
  }
  const auto source = testing::tiny_model(std::move(tried));
  for (int layer = 0; layer < source->info().layers; ++layer) {
    for (int d = 0; d < 41; ++d) source->layer(layer, d);
  }
  std::vector<double> losses;
  for (int d = 0; d < 41; ++d) losses.push_back(source->next_tokens(d).losses.front());
  return losses;
}

// Cases of a task that the model does: the answers are what it predicts, and the controls are
// prompts after which it predicts them least.
std::vector<Document> done_cases(int seed, bool controls) {
  constexpr int kCases = 8;
  std::vector<std::vector<double>> losses;
  for (int c = 0; c < kCases; ++c) losses.push_back(losses_after(prompt_of(seed, c)));
  std::vector<Document> cases, without;
  for (int c = 0; c < kCases; ++c) {
    const auto& own = losses[c];
    const auto answer = static_cast<int>(std::ranges::min_element(own) - own.begin());
    const auto worst = std::ranges::max_element(
        losses, {}, [&](const auto& of_prompt) { return of_prompt[answer]; });
    cases.push_back(make_case(prompt_of(seed, c), std::vector{answer}, {.task = "done"}, "cases"));
    without.push_back(make_case(prompt_of(seed, static_cast<int>(worst - losses.begin())),
                                std::vector{answer}, {.task = "done", .control_of = c}, "cases"));
  }
  if (controls) cases.insert(cases.end(), without.begin(), without.end());
  return cases;
}

// Documents whose last tokens repeat the first and are what the model predicts there, as if it
// copied them: they are its own continuation of the tokens before them.
std::unique_ptr<HeadSource> continued(int seed, int count, Index replayed) {
  std::vector<Document> texts(count);
  for (int d = 0; d < count; ++d) {
    const std::vector<int> middle = prompt_of(seed, d);
    std::vector<int> first(middle.begin(), middle.begin() + replayed), tokens;
    for (int round = 0; round < 4; ++round) {
      tokens = first;
      tokens.insert(tokens.end(), middle.begin(), middle.begin() + 40);
      for (Index i = 0; i < replayed; ++i) {
        const std::vector<double> losses = losses_after(tokens);
        tokens.push_back(static_cast<int>(std::ranges::min_element(losses) - losses.begin()));
      }
      const std::vector<int> last(tokens.end() - replayed, tokens.end());
      if (last == first) break;
      first = last;
    }
    std::ranges::copy(first, tokens.begin());
    std::ranges::copy(first, tokens.end() - replayed);
    texts[d].tokens = tokens;
  }
  return testing::tiny_model(std::move(texts));
}

// Adjusts p-values as Benjamini and Hochberg do: p_(i) m / i, made to rise with i.
std::vector<double> step_up(const std::vector<double>& p) {
  const auto m = p.size();
  std::vector<double> adjusted(m, 1);
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < m; ++j) {
      if (p[j] < p[i]) continue;  // the least of p_(j) m / j from the place of i on
      const auto rank = static_cast<double>(
          std::ranges::count_if(p, [&](double other) { return other <= p[j]; }));
      adjusted[i] = std::min(adjusted[i], p[j] * static_cast<double>(m) / rank);
    }
  }
  return adjusted;
}

// What the plan changes of an outcome less what every other method changes, the intervals and the
// adjusted p-values of that. Returns how many methods of all budgets were compared.
std::size_t expect_differences(const Results& results, Index outcome, double freedom) {
  const LabelledArray& change = results.require_metric("planned_change");
  const LabelledArray& ahead = results.require_metric("plan_difference");
  std::vector<double> p, found;
  for (Index b = 0; b < results.coord_size("budget"); ++b) {
    EXPECT_TRUE(std::isnan(ahead({0, b, outcome})));
    for (Index m = 1; m < results.coord_size("method"); ++m) {
      if (std::isnan(change({m, b, outcome}))) continue;
      const Estimate gain = ahead.at({m, b, outcome});
      EXPECT_NEAR(gain.value, change({0, b, outcome}) - change({m, b, outcome}), 1e-12);
      EXPECT_EQ(gain.degrees_of_freedom, freedom);
      const Interval interval = t_interval(mean_of(gain));
      EXPECT_TRUE(same(gain.low, interval.low) && same(gain.high, interval.high));
      p.push_back(t_test(mean_of(gain)).p);
      found.push_back(gain.p);
    }
  }
  const std::vector<double> expected = step_up(p);
  for (std::size_t i = 0; i < p.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-12);
  return p.size();
}

TEST(MakePlan, ComparesWithRivalsByTextAndByReplay) {
  constexpr Index kReplayed = 20;
  const auto search = continued(1, 2, kReplayed), check = continued(2, 2, kReplayed),
             confirm = continued(3, 3, kReplayed);
  const PlanTexts texts{
      {*search, nullptr, kReplayed}, {*check, nullptr, kReplayed}, {*confirm, nullptr, kReplayed}};
  const Results results = make_plan(texts, small_options()).results;
  ASSERT_EQ(outcomes_of(results), (std::vector<std::string>{kText, kReplay}));
  EXPECT_EQ(replay_of(results), 1);
  for (const Index outcome : {0, 1}) EXPECT_GE(expect_differences(results, outcome, 2), 6U);
}

// What the check has at stake weighs the parts, and a task that it lacks is left out.
TEST(MakePlan, WeighsByTheCheck) {
  const Sources sources;
  auto searched = done_cases(1, false);
  for (std::size_t c = 4; c < 8; ++c) searched[c].answer.task = "lacking";
  std::ranges::reverse(searched);
  auto tested = done_cases(2, true);
  for (Document& one : done_cases(1, true)) {
    const auto first = static_cast<int>(done_cases(2, true).size());
    if (one.answer.control_of >= 0) one.answer.control_of += first;
    one.answer.task = "lacking";
    tested.push_back(one);
  }
  const auto search = testing::tiny_model(searched);
  const auto check = testing::tiny_model(done_cases(1, false));
  const auto confirm = testing::tiny_model(done_cases(2, false));
  const auto all = testing::tiny_model(tested);
  const PlanTexts texts{{*sources.search, search.get()},
                        {*sources.check, check.get()},
                        {*sources.confirm, confirm.get()},
                        all.get()};
  PlanOptions options = small_options();
  options.steps = 2;
  const auto weights = make_plan(texts, options).results.settings["weights"];
  Evaluations known;
  JointChange of_check({*sources.check, check.get()}, "check", known, {});
  const PlanSpace space(sources.check->info(), 96, {}, false);
  of_check.weigh_by(equal_windows(space, 0.125));
  EXPECT_NE(weights["answers"]["done"], 1.0);
  EXPECT_EQ(weights.dump(), of_check.weights().dump());
}

TEST(MakePlan, SaysWhatCompareMeasuresOfAnswers) {
  const Sources sources;
  const auto search = testing::tiny_model(done_cases(1, false));
  const auto confirm = testing::tiny_model(done_cases(2, false));
  const auto all = testing::tiny_model(done_cases(2, true));
  const PlanTexts texts{{*sources.search, search.get()},
                        {*sources.check, search.get()},
                        {*sources.confirm, confirm.get()},
                        all.get()};
  PlanOptions options = small_options();
  options.curve = {};
  options.memory = 0.25;
  const PlanResults made = make_plan(texts, options);
  const Results& results = made.results;
  ASSERT_EQ(outcomes_of(results), (std::vector<std::string>{kText, "done"}));
  ASSERT_EQ(results.at("does_task", {1}), 1);
  CompareOptions scan;
  scan.scan.measures = {"model"};
  const auto cases = testing::tiny_model(done_cases(2, false));
  const Results expected = compare(
      *cases, scan, std::vector{make_intervention(made.plans.front().plan, scan, *cases, "plan")});
  const Estimate change = results.require_metric("planned_change").at({0, 0, 1});
  const Estimate of_compare = expected.require_metric("loss_change").isel("length", -1).at({1, 0});
  EXPECT_NEAR(change.value, of_compare.value, 1e-12);
  EXPECT_NEAR(change.standard_error, of_compare.standard_error, 1e-12);
  EXPECT_NE(change.value, 0);
  const Estimate kept = results.require_metric("planned_answers_kept").at({0, 0, 1});
  const Estimate kept_of_compare = expected.require_metric("answers_kept").at({1, 0});
  for (const auto part : {&Estimate::value, &Estimate::low, &Estimate::high}) {
    EXPECT_EQ(kept.*part, kept_of_compare.*part);
  }
  EXPECT_LT(kept.value, 1) << "otherwise this shows nothing";
  EXPECT_TRUE(kept.has_interval());
  EXPECT_GE(expect_differences(results, 1, 7), 3U);

  // A rise of the answers that is not allowed rules out what the text alone would allow.
  options.memory.reset();
  options.allow = 5;
  const double few = make_plan(texts, options).results.at("planned_cache_share", {0, 0});
  options.allow_answers = 1e-9;
  EXPECT_GT(make_plan(texts, options).results.at("planned_cache_share", {0, 0}), few);
}

TEST(MakePlan, RefusesWhatDoesNotFit) {
  const Sources sources;
  const auto refused = [&](auto change) {
    PlanOptions options = small_options();
    change(options);
    EXPECT_THROW(make_plan(sources.texts(), options), UsageError);
  };
  refused([](PlanOptions& o) { o.memory = 1.5; });
  refused([](PlanOptions& o) { o.curve = {0.0}; });
  refused([](PlanOptions& o) { o.patterns = {"nothing"}; });
  refused([](PlanOptions& o) { o.allow_replay = 0.1; });  // without `allow`
  refused([](PlanOptions& o) { o.allow = 0.1, o.allow_answers = -1; });
  refused([](PlanOptions& o) { o.memory = 1e-4; });  // less than a key for each head
  refused([](PlanOptions& o) { o.curve = {1e-4}; });
  refused([](PlanOptions& o) { o.patterns = {"window:size=96"}; });  // every key of the text
  const auto shorter = testing::open_model({{"short", std::vector<int>(40, 3), ""}});
  EXPECT_THROW(make_plan({*sources.search, *sources.check, *shorter}, small_options()),
               BadInputError);
}

TEST(MakePlan, RefusesAModelWithoutALoss) {
  const auto open = [](int first) {
    Document text;
    text.tokens = std::vector<int>(24, first);
    return testing::open_model({text, text}, {}, "tests/golden/bert/plain");
  };
  const auto search = open(5), check = open(6), confirm = open(7);
  expect_part(thrown<UnsupportedError>([&] {
                make_plan({*search, *check, *confirm}, small_options());
              }),
              "plan: expected a model that predicts next tokens, found ");
}

}  // namespace
}  // namespace headgauge
