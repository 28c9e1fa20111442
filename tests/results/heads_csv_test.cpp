#include <gtest/gtest.h>

#include "results/made_results.hpp"

namespace headgauge {
namespace {

TEST(HeadsCsv, OneRowPerLayerHeadAndLength) {
  EXPECT_EQ(heads_csv_text(made_results()),
            "layer,head,length,entropy,mass_90\n"
            "0,0,32,0,\n"
            "0,0,64,0.1,\n"
            "0,1,32,0.2,\n"
            "0,1,64,0.30000000000000004,\n"
            "0,2,32,0.4,\n"
            "0,2,64,0.5,\n"
            "1,0,32,0.6000000000000001,\n"
            "1,0,64,0.7000000000000001,\n"
            "1,1,32,0.8,\n"
            "1,1,64,0.9,\n"
            "1,2,32,1,\n"
            "1,2,64,1.1,17.25\n");
}

TEST(HeadsCsv, WhatAHeadHasOnceStandsAtTheLongestLength) {
  Results results;
  results.set_coord("layer", std::vector<double>{0});
  results.set_coord("head", std::vector<double>{0, 1});
  results.set_coord("length", std::vector<double>{32, 64});
  results.add_metric("horizon", {"layer", "head"}, "1").values = {1.5, 2.5};
  EXPECT_EQ(heads_csv_text(results),
            "layer,head,length,horizon\n"
            "0,0,32,\n"
            "0,0,64,1.5\n"
            "0,1,32,\n"
            "0,1,64,2.5\n");
}

TEST(HeadsCsv, WithoutScalarMetricsOnlyTheHeader) {
  EXPECT_EQ(heads_csv_text(Results{}), "layer,head,length\n");
}

}  // namespace
}  // namespace headgauge
