// How far a temperature can be changed before the loss does.
#include "experiments/temperature_range.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "findings/summary_facts.hpp"
#include "headgauge/headgauge.hpp"

namespace headgauge {
namespace {

struct TemperatureTried {
  std::string label;
  double change, error;
};

// Changes known from 16 batches.
Results with_temperatures(const std::vector<TemperatureTried>& tried, double freedom = 15) {
  Results results;
  results.set_coord("length", std::vector<double>{64});
  std::vector<std::string> labels = {"original"};
  for (const TemperatureTried& one : tried) labels.push_back(one.label);
  results.set_coord("normalizer", labels);
  LabelledArray& change = results.add_metric("loss_change", {"normalizer", "length"}, "nats");
  change.with_standard_errors();
  for (Index k = 0; k < std::ssize(tried); ++k) {
    change.set({k + 1, 0}, {tried[k].change, tried[k].error, 1000, freedom});
  }
  return results;
}

std::string said(const Results& results) {
  const auto line = temperature_range(results);
  if (line) testing::expect_facts_are_in_the_results(results, {*line});
  return line ? line->text : "";
}

TEST(TemperatureRange, ReachesAsFarAsTheLossIsShownToStay) {
  const std::string text = said(with_temperatures({{"softmax:t=2", .5, .01},
                                                   {"softmax:t=0.9", .03, .01},
                                                   {"softmax:t=0.5", .3, .01},
                                                   {"softmax:t=1.1", -.02, .01},
                                                   {"softmax:t=1.2", -.03, .01},
                                                   {"ssmax", .01, .01}}));
  EXPECT_EQ(text,
            "At L = 64, of 5 temperatures from 0.5 to 2, 0.9, 1.1 and 1.2 are shown to change the "
            "loss by less than 0.05 nats.");
}

TEST(TemperatureRange, WhatIsNotShownIsNotWithin) {
  const auto none = [](const std::vector<TemperatureTried>& tried) {
    const std::string text = said(with_temperatures(tried));
    EXPECT_NE(text.find("none is shown"), std::string::npos) << text;
  };
  // t of 15 degrees of freedom is 1.753: .03 + 1.753 * .0114 = .04998, of .0115 .05016.
  EXPECT_EQ(said(with_temperatures({{"softmax:t=0.9", .03, .0114}, {"softmax:t=2", 1, .01}})),
            "At L = 64, of 2 temperatures from 0.9 to 2, 0.9 is shown to change the loss by less "
            "than 0.05 nats.");
  none({{"softmax:t=0.9", .03, .0115}, {"softmax:t=2", 1, .01}});
  none({{"softmax:t=1.1", .2, .01}, {"softmax:t=1.2", .0, .01}});   // beyond one that is not shown
  none({{"softmax:t=1.1", -.2, .01}, {"softmax:t=0.9", .2, .01}});  // a fall is a change
}

TEST(TemperatureRange, SaysNothingOfASingleTemperatureOrOtherRules) {
  EXPECT_EQ(said(with_temperatures({{"softmax:t=0.9", .05, .01}, {"ssmax", 0, .01}})), "");
  EXPECT_EQ(said(with_temperatures({{"softcap:c=2", .05, .01}, {"ssmax", 0, .01}})), "");
}

}  // namespace
}  // namespace headgauge
