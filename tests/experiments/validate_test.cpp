// validate() on a tiny model: its losses are compare()'s, its predictors the metrics of converge().
#include "headgauge/validate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "experiments/predictors.hpp"
#include "headgauge/headgauge.hpp"
#include "small_models.hpp"

namespace headgauge {
namespace {

const std::vector<std::string> kTexts = {"one", "two"};

std::unique_ptr<HeadSource> open_text(std::size_t text) {
  const auto first = 5 * static_cast<int>(text);
  return testing::open_model({{kTexts[text], testing::made_ids(96, 3, first), ""}});
}

ValidateOptions small_options() {
  ValidateOptions options;
  options.scan.lengths = {96};
  options.scan.measure.top_n = {1, 5};
  options.scan.measure.critical_max = 10;
  options.permutations = 99;
  options.resamples = 99;
  return options;
}

// What compare() finds of each head under the same patterns, and converge() of the same metrics.
Results compared(HeadSource& source, const ValidateOptions& options) {
  CompareOptions each;
  each.scan = options.scan;
  each.each = Each::head;
  each.patterns = options.patterns;
  return compare(source, each, make_interventions(each, source.info()));
}
Results converged(HeadSource& source, const ValidateOptions& options) {
  ConvergeOptions all;
  all.scan = options.scan;
  all.scan.measures = measure_groups();
  return converge(source, all);
}

TEST(Validate, LossesAreThoseOfACompareOfEachHead) {
  const ValidateOptions options = small_options();
  const Results results = validate({kTexts, open_text}, options);
  EXPECT_EQ(results.command, Command::validate);
  const LabelledArray& change = results.require_metric("validated_loss_change");
  EXPECT_EQ(change.dim_names(),
            (std::vector<std::string>{"layer", "head", "intervention", "text"}));
  for (Index text = 0; text < 2; ++text) {
    const Results expected = compared(*open_text(text), options);
    const LabelledArray& loss = expected.require_metric("loss_change");
    for (Index l = 0; l < change.dim("layer").size(); ++l) {
      for (Index h = 0; h < change.dim("head").size(); ++h) {
        for (Index k = 0; k < 2; ++k) {
          EXPECT_EQ(change({l, h, k, text}), loss({l, h, k + 1, 0, 0})) << l << "." << h;
        }
      }
    }
  }
  // Uniform weights, sharper and flatter ones come after the patterns.
  const auto names = results.coord_names("intervention");
  EXPECT_EQ(std::vector<std::string>(names.begin(), names.end()),
            (std::vector<std::string>{"sinks:sinks=4,window=60", "topk:k=16", "uniform",
                                      "softmax:t=0.5", "softmax:t=2"}));
}

// Five documents a text: each mean has 4 degrees of freedom, of which Student's t is a closed form.
double two_sided_p_of_4(double t) {
  const double sine = std::abs(t) / std::sqrt(4 + t * t);
  return 1 - sine * (1.5 - .5 * sine * sine);
}

TEST(Validate, RisesAndFallsAreThoseShownAmongAll) {
  const auto open = [](std::size_t text) -> std::unique_ptr<HeadSource> {
    std::vector<Document> documents(5);
    for (int d = 0; d < 5; ++d) {
      documents[d].tokens = testing::made_ids(64, d, 5 * static_cast<int>(text));
    }
    return testing::open_model(std::move(documents));
  };
  ValidateOptions options = small_options();
  options.scan.lengths = {64};
  options.patterns.clear();
  options.normalizers = {"softmax:t=0.5", "uniform"};
  options.level = .9;
  const Results results = validate({kTexts, open}, options);
  const LabelledArray& all = results.require_metric("validated_loss_change");
  int shown = 0;
  for (Index k = 0; k < 2; ++k) {
    const LabelledArray change = all.isel("intervention", k);
    std::vector<std::pair<double, double>> cases;  // p, change
    for (std::size_t i = 0; i < change.values.size(); ++i) {
      cases.emplace_back(two_sided_p_of_4(change.values[i] / change.standard_error[i]),
                         change.values[i]);
    }
    std::ranges::sort(cases);
    std::size_t discoveries = 0;  // Benjamini and Hochberg, step up
    for (std::size_t i = 0; i < cases.size(); ++i) {
      if (cases[i].first <= .9 * static_cast<double>(i + 1) / static_cast<double>(cases.size())) {
        discoveries = i + 1;
      }
    }
    const auto rises =
        std::count_if(cases.begin(), cases.begin() + static_cast<std::ptrdiff_t>(discoveries),
                      [](const auto& one) { return one.second > 0; });
    EXPECT_EQ(results.at("loss_rises", {k}), static_cast<double>(rises));
    EXPECT_EQ(results.at("loss_falls", {k}), static_cast<double>(discoveries) - rises);
    shown += static_cast<int>(discoveries);
  }
  EXPECT_GT(shown, 0);
}

TEST(Validate, PredictorsAreTheMetricsOfTheText) {
  const ValidateOptions options = small_options();
  const Results results = validate({kTexts, open_text}, options);
  const Results expected = converged(*open_text(1), options);
  const LabelledArray& value = results.require_metric("predictor_value");
  const auto place = [&](const char* name) {
    const auto found = results.require_coord("predictor").find(name);
    EXPECT_TRUE(found.has_value()) << name;
    return found.value_or(0);
  };
  for (const HeadName& head : measured_heads(expected)) {
    const Index l = head.layer_index, h = head.head_index;
    const auto cell = [&](const char* metric, std::initializer_list<Pick> more) {
      const auto found = more.size() == 0 ? find_cell(expected, metric, {{"layer", l}, {"head", h}})
                                          : find_cell(expected, metric,
                                                      {{"layer", l}, {"head", h}, *more.begin()});
      return found ? found->value : kUndefined;
    };
    EXPECT_EQ(value({l, h, place("entropy_with_sinks"), 1}), cell("entropy_with_sinks", {}));
    EXPECT_EQ(value({l, h, place("separability_with_sinks"), 1}),
              cell("separability_with_sinks", {{"top_n", *judged_top_n(expected)}}));
    EXPECT_EQ(value({l, h, place("layer"), 1}), head.layer);
  }
  // A metric by position, and one that numbers heads predict nothing.
  for (const std::string& name : results.coord_names("predictor")) {
    expect_no_part(name, "_by_position");
    expect_no_part(name, "_partner");
  }
}

TEST(Validate, IsTheSameOnAnyNumberOfThreads) {
  ValidateOptions options = small_options();
  options.patterns.clear();
  options.normalizers = {"uniform"};
  options.scan.threads = 1;
  const Results one = validate({kTexts, open_text}, options);
  options.scan.threads = 3;
  const Results three = validate({kTexts, open_text}, options);
  testing::expect_same_values(three, one);
}

TEST(Validate, RefusesWhatCannotBeValidated) {
  EXPECT_THROW(validate(ValidateInput{}, small_options()), UsageError);
  ValidateOptions nothing = small_options();
  nothing.patterns.clear();
  nothing.normalizers.clear();
  ValidateInput half = {.groups = {"one"}, .open_group = open_text};
  EXPECT_THROW(validate(half, small_options()), UsageError);
  EXPECT_THROW(validate({kTexts, open_text}, nothing), UsageError);
}

TEST(Validate, OneTextIsSaidToShowNothingOfAnother) {
  ValidateOptions options = small_options();
  options.normalizers.clear();
  const Results results = validate({{kTexts.front()}, open_text}, options);
  EXPECT_EQ(testing::notices_with(results, "there is one text:"), 1);
  EXPECT_TRUE(std::isnan(results.require_metric("replication").values[0]));
}

// A verdict needs three: a p of at most the level, one sign on every text, and that sign within the
// layers.
TEST(Validate, PredictsOnlyWhereTheTextsAgree) {
  ValidateOptions options = small_options();
  int predicted = 0, of_two_signs = 0, above_level = 0, undefined = 0;
  for (const double level : {.05, 1.}) {  // the fixture has no p below .05, and all are at most 1
    options.level = level;
    const Results results = validate({kTexts, open_text}, options);
    const LabelledArray& rho = results.require_metric("rank_correlation");
    const LabelledArray& by_text = results.require_metric("rank_correlation_by_text");
    rho.each([&](std::span<const Index> pair, std::size_t at) {
      const double shown = results.at("predicts", {pair[0], pair[1], 0});
      EXPECT_EQ(predicts(results, pair[0], pair[1], 0), shown == 1);
      const double p = rho.at_offset(at).p;
      if (std::isnan(p)) {
        EXPECT_TRUE(std::isnan(shown));
        ++undefined;
        return;
      }
      const double product = by_text({pair[0], pair[1], 0}) * by_text({pair[0], pair[1], 1});
      const double whole = rho.values[at];
      const double within = results.at("rank_correlation_within", {pair[0], pair[1], 0});
      const bool agree = product > 0 && within * whole > 0;
      EXPECT_EQ(shown, p <= level && agree ? 1 : 0);
      predicted += shown == 1;
      of_two_signs += p <= level && !(product > 0);
      above_level += p > level && product > 0;
    });
  }
  EXPECT_GT(std::min({predicted, of_two_signs, above_level, undefined}), 0)
      << predicted << ", " << of_two_signs << ", " << above_level << ", " << undefined;
}

// Two groups of cases; the second group has longer ones.
std::unique_ptr<HeadSource> open_group(std::size_t group) {
  std::vector<Document> cases;
  for (int c = 0; c < 4; ++c) {
    const auto number = static_cast<int>(group);
    const std::vector<int> prompt = testing::made_ids(70 + 10 * number, c, 7 * number);
    cases.push_back(make_case(prompt, std::vector<int>{c, 3}, {.task = "t", .distance = 20}, "t"));
  }
  return testing::open_model(std::move(cases));
}

ValidateInput with_cases(std::vector<std::string> texts) {
  return {.texts = std::move(texts),
          .open = open_text,
          .groups = {"one", "two"},
          .open_group = open_group};
}

TEST(ValidateAnswers, AreThoseOfACompareOfEachHead) {
  ValidateOptions options = small_options();
  options.normalizers.clear();
  options.patterns = {"window:size=8"};
  const Results results = validate(with_cases(kTexts), options);
  const Results texts_alone = validate({kTexts, open_text}, options);
  for (const auto& [name, metric] : texts_alone.metrics) {
    const LabelledArray& whole = results.require_metric(name);
    const LabelledArray beside =
        metric.has_dim(kOutcome) ? whole.take(kOutcome, std::array<Index, 1>{0}) : whole;
    for (std::size_t i = 0; i < metric.values.size(); ++i) {
      const Estimate alone = metric.at_offset(i), found = beside.at_offset(i);
      for (const auto part : {&Estimate::value, &Estimate::low, &Estimate::high, &Estimate::p}) {
        EXPECT_TRUE(alone.*part == found.*part || std::isnan(alone.*part)) << name;
      }
    }
  }
  const LabelledArray& change = results.require_metric("validated_answer_change");
  EXPECT_EQ(change.dim_names(),
            (std::vector<std::string>{"layer", "head", "intervention", "cases"}));
  for (Index group = 0; group < 2; ++group) {
    ValidateOptions of_group = options;
    of_group.scan.lengths = {64};
    const Results expected = compared(*open_group(group), of_group);
    const LabelledArray& loss = expected.require_metric("loss_change");
    for (Index l = 0; l < change.dim("layer").size(); ++l) {
      for (Index h = 0; h < change.dim("head").size(); ++h) {
        EXPECT_EQ(change({l, h, 0, group}), loss({l, h, 1, 0, 0})) << l << "." << h;
        EXPECT_EQ(change.at({l, h, 0, group}).standard_error,
                  loss.at({l, h, 1, 0, 0}).standard_error);
      }
    }
  }
  EXPECT_EQ(results.coord_names("cases")[1], "two");
  EXPECT_EQ(outcomes_of(results), (std::vector<std::string>{kText, kAnswers}));
  const LabelledArray& correlation =
      results.require_metric("rank_correlation").sel(kOutcome, kAnswers);
  EXPECT_TRUE(
      std::ranges::any_of(correlation.values, [](double rho) { return std::abs(rho) > 0; }));
}

TEST(ValidateAnswers, MeasureHeadsOnTheCasesWithoutAText) {
  ValidateOptions options = small_options();
  options.scan.lengths = {64};
  options.normalizers.clear();
  options.patterns = {"window:size=8"};
  const Results results = validate(with_cases({}), options);
  EXPECT_EQ(outcomes_of(results), std::vector<std::string>{kAnswers});
  EXPECT_EQ(results.metric("rank_correlation_by_text"), nullptr);
  const LabelledArray& value = results.require_metric("predictor_value");
  EXPECT_EQ(value.dim_names(), (std::vector<std::string>{"layer", "head", "predictor", "cases"}));
  const Results expected = converged(*open_group(1), options);
  const Index entropy = results.require_coord("predictor").find("entropy_with_sinks").value_or(-1);
  ASSERT_GE(entropy, 0);
  EXPECT_EQ(value({1, 0, entropy, 1}), expected.require_metric("entropy_with_sinks")({1, 0, 0}));
}

// Heads are looked up by number: some layers may be left out.
TEST(Validate, ChangesOfChosenHeadsAreTheirOwn) {
  ValidateOptions options = small_options();
  options.normalizers = {"uniform"};
  options.patterns.clear();
  const Results all = validate({kTexts, open_text}, options);
  options.scan.heads = "1.1";
  const Results one = validate({kTexts, open_text}, options);
  const LabelledArray& chosen = one.require_metric("validated_loss_change");
  const Index layer = one.require_coord("layer").find(1.).value_or(-1);
  const Index head = one.require_coord("head").find(1.).value_or(-1);
  EXPECT_EQ(chosen({layer, head, 0, 0}), all.at("validated_loss_change", {1, 1, 0, 0}));
  EXPECT_NE(chosen({layer, head, 0, 0}), 0);
}

}  // namespace
}  // namespace headgauge
