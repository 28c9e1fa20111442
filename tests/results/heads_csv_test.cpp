#include <gtest/gtest.h>

#include "results/made_results.hpp"

namespace headgauge {
namespace {

// Returns results of these heads of layer 0.
Results of_heads(std::vector<double> heads, std::vector<double> lengths) {
  Results results;
  results.set_coord("layer", std::vector<double>{0});
  results.set_coord("head", std::move(heads));
  results.set_coord("length", std::move(lengths));
  return results;
}

TEST(HeadsCsv, OneRowPerLayerHeadAndLength) {
  EXPECT_EQ(heads_csv_text(made_results()),
            "layer,head,length,entropy_with_sinks,entropy_with_sinks_stderr,mass_90_with_sinks\n"
            "0,0,32,0,,\n"
            "0,0,64,0.1,,\n"
            "0,1,32,0.2,,\n"
            "0,1,64,0.30000000000000004,0.3333333333333333,\n"
            "0,2,32,0.4,,\n"
            "0,2,64,0.5,,\n"
            "1,0,32,0.6000000000000001,,\n"
            "1,0,64,0.7000000000000001,,\n"
            "1,1,32,0.8,,\n"
            "1,1,64,0.9,,\n"
            "1,2,32,1,,\n"
            "1,2,64,1.1,,17.25\n");
}

TEST(HeadsCsv, TheEndsOfAnIntervalAndPStandBesideTheirMetric) {
  Results results = of_heads({0}, {32, 64});
  LabelledArray& m = results.add_metric("m", {"layer", "head", "length"}, "1");
  m.with_standard_errors().with_intervals().with_p().with_rows();
  m.set({0, 0, 1}, {.value = 1,
                    .standard_error = 0.25,
                    .rows = 9,
                    .degrees_of_freedom = 8,
                    .low = 0.5,
                    .high = 1.5,
                    .p = 0.125});
  results.add_metric("no_part", {"layer", "head"}, "1").values = {7};
  EXPECT_EQ(heads_csv_text(results),
            "layer,head,length,m,m_stderr,m_low,m_high,m_p,no_part\n"
            "0,0,32,,,,,,\n"
            "0,0,64,1,0.25,0.5,1.5,0.125,7\n");
}

TEST(HeadsCsv, OfTheOutcomesHasThatOfText) {
  Results results = of_heads({0}, {32, 64});
  results.set_coord(kOutcome, std::vector<std::string>{"keys", kText});
  results.add_metric("change", {"layer", "head", kOutcome, "length"}, "1").values = {1, 2, 3, 4};
  results.set_coord("cases", std::vector<std::string>{"a"});
  results.add_metric("right", {"layer", "head", "cases"}, "1").values = {5};
  EXPECT_EQ(heads_csv_text(results),
            "layer,head,length,change\n"
            "0,0,32,3\n"
            "0,0,64,4\n");
}

TEST(HeadsCsv, WhatAHeadHasOnceStandsAtTheLongestLength) {
  Results results = of_heads({0, 1}, {32, 64});
  results.add_metric("horizon", {"layer", "head"}, "1").values = {1.5, 2.5};
  EXPECT_EQ(heads_csv_text(results),
            "layer,head,length,horizon\n"
            "0,0,32,\n"
            "0,0,64,1.5\n"
            "0,1,32,\n"
            "0,1,64,2.5\n");
}

// A label is data in a spreadsheet, never a formula.
TEST(HeadsCsv, LabelsThatBeginAFormulaAreDefused) {
  Results results = of_heads({0}, {32});
  const std::vector<std::string> labels = {
      "=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(1,2)", "\tx", "-1.5e3", "+7", "a=b", "\rx\"y",
      "-"};
  results.set_coord("normalizer", labels);
  results.add_metric("=m", {"layer", "head", "normalizer", "length"}, "1").values.assign(10, 1);
  EXPECT_EQ(heads_csv_text(results),
            "layer,head,normalizer,length,'=m\n"
            "0,0,'=1+1,32,1\n"
            "0,0,'+cmd|' /C calc'!A0,32,1\n"
            "0,0,'-2+3,32,1\n"
            "0,0,\"'@SUM(1,2)\",32,1\n"
            "0,0,'\tx,32,1\n"
            "0,0,-1.5e3,32,1\n"
            "0,0,+7,32,1\n"
            "0,0,a=b,32,1\n"
            "0,0,\"'\rx\"\"y\",32,1\n"
            "0,0,'-,32,1\n");
}

TEST(HeadsCsv, ChangesBetweenRunsStandWithTheNewOne) {
  Results results = of_heads({3}, {32, 64});
  results.set_coord("run", std::vector<std::string>{"old", "new"});
  results.set_coord("normalizer", std::vector<std::string>{"original", "a,b"});
  results.add_metric("m", {"layer", "head", "run", "normalizer", "length"}, "1").values = {
      1, 2, 3, 4, 5, 6, 7, 8};
  results.add_metric("m_change", {"layer", "head", "normalizer", "length"}, "1").values = {11, 12,
                                                                                           13, 14};
  results.add_metric("slope", {"layer", "head", "run", "normalizer"}, "1").values = {21, 22, 23,
                                                                                     24};
  results.add_metric("slope_change", {"layer", "head", "normalizer"}, "1").values = {31, 32};
  results.set_coord(kOutcome, std::vector<std::string>{kText});
  results.add_metric("loss", {"run", "normalizer", kOutcome, "length"}, "1");
  EXPECT_EQ(heads_csv_text(results),
            "layer,head,run,normalizer,length,m,m_change,slope,slope_change\n"
            "0,3,old,original,32,1,,,\n"
            "0,3,old,original,64,2,,21,\n"
            "0,3,old,\"a,b\",32,3,,,\n"
            "0,3,old,\"a,b\",64,4,,22,\n"
            "0,3,new,original,32,5,11,,\n"
            "0,3,new,original,64,6,12,23,31\n"
            "0,3,new,\"a,b\",32,7,13,,\n"
            "0,3,new,\"a,b\",64,8,14,24,32\n");
}

TEST(HeadsCsv, WithoutScalarMetricsOnlyTheHeader) {
  EXPECT_EQ(heads_csv_text(Results{}), "layer,head,length\n");
}

}  // namespace
}  // namespace headgauge
