#include "headgauge/catalogue.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "headgauge/text.hpp"
#include "results/catalogue_text.hpp"

namespace headgauge {
namespace {

using Names = std::vector<std::string>;

constexpr const char* kGroup =
    R"({"group": "g", "command": "scan", "commands": {"converge": "c"}, "metrics": [)";

// The declaration of a metric with all that it needs, and `more` keys.
std::string metric(const std::string& name, const std::string& more = "") {
  return R"({"name": ")" + name + R"(", "title": "t", "kind": "row_mean", "dims": ["top_n"],)" +
         R"("unit": "keys", "formula": "f", "meaning": "m", "source": "s")" + more + "}";
}

std::string group_of(const std::string& metrics) {
  return kGroup + metrics + "]}";
}

std::string refusal(const std::string& text) {
  try {
    read_catalogue("[" + text + "]");
  } catch (const std::logic_error& error) {
    return error.what();
  }
  return "";
}

bool refuses(const std::string& text, const std::string& why) {
  return refusal(text).find(why) != std::string::npos;
}

TEST(Catalogue, ReadsEveryField) {
  const Catalogue found = read_catalogue(
      "[" +
      group_of(metric("a", R"(, "none": -1, "flags": ["p", "q"], "by_position": true)") + "," +
               metric("b", R"(, "command": "compare", "identifier": true, "bound": true,
                               "fraction_of": "a", "interval": "i", "test": "t", "formerly": ["c"],
                               "range": [-1, 1])")) +
      R"(, {"group": "h", "command": "converge", "needs": "x", "metrics": []}])");
  ASSERT_EQ(found.metrics.size(), 2u);
  const MetricInfo &a = found.metrics[0], &b = found.metrics[1];
  EXPECT_EQ(a.group + a.name + a.title + a.unit + a.formula + a.meaning + a.source, "gatkeysfms");
  EXPECT_EQ(a.kind, MetricKind::row_mean);
  EXPECT_EQ(a.all_dims(), (Names{"layer", "head", "length", "top_n"}));
  EXPECT_EQ(a.none, -1);
  EXPECT_EQ(a.flags, (Names{"p", "q"}));
  EXPECT_TRUE(a.by_position);
  EXPECT_FALSE(a.identifier || a.bound);
  EXPECT_EQ(a.command, "scan");
  EXPECT_EQ(b.command, "compare");
  EXPECT_FALSE(a.range);
  EXPECT_EQ(b.range, (std::array<double, 2>{-1, 1}));
  EXPECT_EQ(b.fraction_of, "a");
  EXPECT_EQ(b.interval + b.test, "it");
  EXPECT_EQ(b.formerly, Names{"c"});
  EXPECT_TRUE(b.identifier && b.bound && !b.none && !b.by_position);
  ASSERT_EQ(found.groups.size(), 2u);
  EXPECT_EQ(found.groups[0].needs, MetricGroup::Needs::nothing);
  EXPECT_EQ(found.groups[1].needs, MetricGroup::Needs::x);
}

TEST(Catalogue, ReadsExperiments) {
  const Catalogue found = read_catalogue(R"([{"group": "g", "command": "c", "metrics": [],
    "experiments": [{"name": "drawn", "title": "Drawn tokens", "random_tokens": true},
                    {"name": "read", "title": "A model"}]}])");
  ASSERT_EQ(found.experiments.size(), 2u);
  EXPECT_EQ(found.experiments[0].name + found.experiments[0].title, "drawnDrawn tokens");
  EXPECT_TRUE(found.experiments[0].random_tokens && !found.experiments[1].random_tokens);
  EXPECT_TRUE(refuses(R"({"group": "g", "command": "c", "metrics": [],
                          "experiments": [{"name": "drawn"}]})",
                      "title"));
}

TEST(Catalogue, TellsTheExperimentOfAMetric) {
  const Experiment* of = find_experiment("gaussian_error_mean");
  ASSERT_NE(of, nullptr);
  EXPECT_EQ(of->name, "gaussian");
  EXPECT_EQ(find_experiment("error_mean"), nullptr);
  EXPECT_EQ(find_experiment("gaussian_of_my_own"), nullptr) << "no metric of the catalogue";
  EXPECT_EQ(experiment_metric("gaussian", "error_mean"), "gaussian_error_mean");
  EXPECT_THROW(experiment_metric("gaussian", "error_meen"), std::logic_error);
  EXPECT_THROW(experiment_metric("gausian", "error_mean"), std::logic_error);
}

TEST(Catalogue, AnswersAnOldNameWithTheNewOne) {
  EXPECT_EQ(metric_hint("answer_loss_change", {}), "; it is now loss_change");
  EXPECT_EQ(metric_hint("planned_replay_change_low", {}), "; it is now \"low\" of planned_change");
  EXPECT_EQ(metric_hint("closest_n_high", {}), "; it is now \"high\" of closest_n");
  EXPECT_EQ(metric_hint("prediction_rank_correlation_p", {}),
            "; it is now \"p\" of rank_correlation");
  EXPECT_EQ(metric_hint("critical_p", {}), "; it is now \"p\" of critical_n");
  EXPECT_EQ(metric_hint("entropy_low", {}), "") << "entropy never had an interval";
  EXPECT_EQ(metric_hint("entrophy", {"entropy_with_sinks"}),
            did_you_mean("entrophy", {"entropy_with_sinks"}));
}

TEST(Catalogue, RefusesWhatIsNotACompleteDeclaration) {
  EXPECT_EQ(refusal(group_of(metric("a"))), "");
  EXPECT_TRUE(refuses(group_of(metric("a", R"(, "colour": "red")")), "a: unknown key \"colour\""));
  EXPECT_TRUE(refuses(R"({"group": "g", "command": "scan", "metric": []})",
                      "group 1: \"metrics\" is missing"));
  for (const char* key :
       {"name", "title", "kind", "dims", "unit", "formula", "meaning", "source"}) {
    std::string text = group_of(metric("a"));
    text.replace(text.find(std::string("\"") + key + "\""), 2, "\"z");
    EXPECT_TRUE(refuses(text, "is missing")) << key;
  }
  EXPECT_TRUE(refuses(group_of(metric("a", R"(, "bound": 1)")), "wrong type"));
  EXPECT_TRUE(refuses(group_of(metric("a", R"(, "range": [1, 0])")), "a: \"range\" is"));
  EXPECT_TRUE(refuses(group_of(metric("a", R"(, "range": [0, 1, 2])")), "a: \"range\" is"));
  EXPECT_TRUE(
      refuses(group_of(metric("a", R"(, "fraction_of": "b")")), "a: there is no metric \"b\""));
  EXPECT_TRUE(refuses(group_of(metric("")), "\"name\" is empty"));
  EXPECT_TRUE(refuses(group_of("{\"name\": \"a\", \"kind\": \"sum\"}"), "a: \"kind\" is \"sum\""));
  EXPECT_TRUE(refuses("{\"group\": ", "expected JSON objects"));
  EXPECT_TRUE(refuses("\"g\"", "group 1: expected an object"));
}

constexpr const char* kFlag =
    R"("name": "p", "place": 1, "rule": "above", "cutoff": 0.06, "meaning": "above {percent:g} %",
       "source": "s", "means": "m", "next": "converge")";

TEST(Catalogue, ReadsTheFlagsAndTheColumnOfAMetric) {
  const auto with_flag = [&](const std::string& fields) {
    return group_of(metric("a", fmt::format(R"(, "flags": [{{{}}}, "q"])", fields)));
  };
  const std::string text = with_flag(kFlag);
  const Catalogue read = read_catalogue("[" + text + "]");
  ASSERT_EQ(read.flags.size(), 1u);
  EXPECT_EQ(read.flags[0].metric, "a");
  EXPECT_EQ(read.flags[0].meaning, "above 6 %");
  EXPECT_EQ(read.metrics[0].flags, (Names{"p", "q"}));
  const std::string flag = kFlag;
  EXPECT_TRUE(refuses(with_flag(flag + R"(, "else": 1)"), "flags of a: unknown key \"else\""));
  EXPECT_TRUE(refuses(with_flag(flag + R"(, "share_of": "b")"), "p: there is no metric \"b\""));
  std::string other = flag;
  other.replace(other.find("above\""), 5, "beyond_chance");
  EXPECT_TRUE(refuses(with_flag(other + R"(, "share_of": "a")"), "p: only the rules above and"));
  other = flag;
  other.replace(other.find("{percent"), 8, "{share");
  EXPECT_TRUE(refuses(with_flag(other), "catalogue: p: \"above {share:g} %\""));

  const auto with_column = [&](const std::string& fields) {
    return group_of(metric("a", fmt::format(R"(, "column": {{{}}})", fields)));
  };
  const std::string column = R"("title": "A", "unit": "N={}", "width": 5, "place": 1)";
  EXPECT_EQ(refusal(with_column(column)), "");
  std::string open = column;
  open.replace(open.find("N={}"), 4, "keys");
  EXPECT_TRUE(refuses(with_column(open), "column of a: \"unit\" repeats that of the metric"));
  open.replace(open.find("keys"), 4, "N={");
  EXPECT_TRUE(refuses(with_column(open), "column of a: \"N={\""));
  EXPECT_TRUE(refuses(with_column(column + R"(, "judged_by": "b")"),
                      "column of a: there is no metric \"b\""));
}

TEST(Catalogue, RefusesNamesThatStandTwice) {
  EXPECT_TRUE(refuses(group_of(metric("a") + "," + metric("a")), "a: the metric stands twice"));
  EXPECT_TRUE(
      refuses(group_of(metric("a")) + "," + group_of(metric("b")), "g: the group stands twice"));
  EXPECT_TRUE(refuses(
      group_of(metric("a", R"(, "flags": ["p"])") + "," + metric("b", R"(, "flags": ["p"])")),
      "b: \"p\" is judged twice"));
}

TEST(Catalogue, HasTheMetricsOfEveryCommand) {
  std::set<std::string> commands;
  for (const MetricInfo& info : all_metrics()) commands.insert(info.command);
  EXPECT_EQ(commands, (std::set<std::string>{"compare", "converge", "converge --synthetic", "plan",
                                             "reproduce limits", "scan", "series", "validate"}));
  const Names& groups = measure_groups();
  EXPECT_EQ(groups.front(), "weights");
  EXPECT_EQ(std::ranges::count(groups, "convergence"), 0);
  EXPECT_EQ(metric_info("critical_n_head").none, -1);
  EXPECT_EQ(metric_info("critical_fraction_head").fraction_of, "critical_n_head");
  EXPECT_EQ(metric_of_flag("wide"), &metric_info("mass_90"));
  EXPECT_EQ(metric_of_flag("no such flag"), nullptr);
  EXPECT_EQ(find_metric_info("own_metric"), nullptr);
  EXPECT_THROW(metric_info("own_metric"), std::logic_error);
}

TEST(Catalogue, DerivedMetricsNameAllOfTheirDims) {
  EXPECT_EQ(metric_info("loss").all_dims(), (Names{"outcome", "length"}));
  EXPECT_EQ(metric_info("sensitivity").all_dims(),
            (Names{"layer", "head", "temperature", "epsilon"}));
}

}  // namespace
}  // namespace headgauge
