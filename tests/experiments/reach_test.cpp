#include "experiments/recommend.hpp"

#include <gtest/gtest.h>

#include "headgauge/metric_names.hpp"

namespace headgauge {
namespace {

Results compared(std::vector<double> reaches) {
  Results results;
  results.command = Command::compare;
  results.set_coord("length", std::vector<double>{512});
  results.set_coord("pattern", std::vector<std::string>{"original", "window:size=8", "topk:k=4"});
  results.set_coord("gap", std::vector<std::string>{"1", "2-3", "4-7", "none"});
  results.add_metric(metric::reach, {"pattern"}, "tokens").values = std::move(reaches);
  results.metric(metric::reach)->none = -1;
  results.add_metric(metric::loss_change_by_gap, {"pattern", "gap"}, "nats").values = {
      0, 0, 0, 0, .1, 1.5, 2, .125, .1, .2, .3, .4};
  return results;
}

TEST(Reach, SaysOverWhichDistanceAChangeCopiesWorse) {
  const std::vector<SummaryLine> lines = reach_sentences(compared({-1, 2, -1}));
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].text,
            "At L = 512, under window:size=8, the loss of tokens that repeat a bigram from 2 to 3 "
            "tokens back rises by +1.5000 nats, that of tokens that repeat nothing by +0.1250.");
  EXPECT_EQ(lines[0].facts.size(), 5u);
}

TEST(Reach, SaysNothingOfADistanceThatTheResultsDoNotHave) {
  for (const double reach : {-1.0, 0.0, 0.5, 64.0, 1e30, kUndefined}) {
    EXPECT_TRUE(reach_sentences(compared({-1, reach, -1})).empty()) << reach;
  }
  EXPECT_TRUE(reach_sentences(Results()).empty());
}

}  // namespace
}  // namespace headgauge
