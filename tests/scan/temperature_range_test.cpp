// How far a temperature can be changed before the loss does.
#include "scan/temperature_range.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headgauge/headgauge.hpp"
#include "scan/summary_facts.hpp"

namespace headgauge {
namespace {

struct TemperatureTried {
  std::string label;
  double change, error;
};

// A loss of 4 with an error of 0.1, known from 16 batches.
Results with_temperatures(const std::vector<TemperatureTried>& tried, double freedom = 15) {
  Results results;
  results.set_coord("length", std::vector<double>{64});
  std::vector<std::string> labels = {"original"};
  for (const TemperatureTried& one : tried) labels.push_back(one.label);
  results.set_coord("normalizer", labels);
  LabelledArray& loss = results.add_metric("loss", {"normalizer", "length"}, "nats");
  loss.with_standard_errors();
  loss.set({0, 0}, {4, .1, 1000, freedom});
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
                                                   {"softmax:t=0.9", .05, .01},
                                                   {"softmax:t=0.5", .3, .01},
                                                   {"softmax:t=1.1", -.07, .01},
                                                   {"ssmax", .01, .01}}));
  EXPECT_EQ(
      text,
      "Of the temperatures tried, 0.5 to 2, those from 0.9 to 1.1 are shown to leave the loss "
      "within its standard error (0.10 nats).");
}

TEST(TemperatureRange, WhatIsNotShownIsNotWithin) {
  // Too noisy to be within .1: .05 + 1.75 * .04.
  EXPECT_NE(said(with_temperatures({{"softmax:t=0.9", .05, .04}, {"softmax:t=2", 1, .01}}))
                .find("none is shown"),
            std::string::npos);
  // Beyond one that is not shown nothing counts.
  EXPECT_NE(said(with_temperatures({{"softmax:t=1.1", .2, .01}, {"softmax:t=1.2", .0, .01}}))
                .find("none is shown"),
            std::string::npos);
  // A fall beyond the error is no less a change than a rise.
  EXPECT_NE(said(with_temperatures({{"softmax:t=1.1", -.2, .01}, {"softmax:t=0.9", .2, .01}}))
                .find("none is shown"),
            std::string::npos);
}

TEST(TemperatureRange, SaysNothingOfASingleTemperatureOrOtherRules) {
  EXPECT_EQ(said(with_temperatures({{"softmax:t=0.9", .05, .01}, {"ssmax", 0, .01}})), "");
  EXPECT_EQ(said(with_temperatures({{"softcap:c=2", .05, .01}, {"ssmax", 0, .01}})), "");
}

}  // namespace
}  // namespace headgauge
