#include "headgauge/results.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "results/made_results.hpp"

namespace headgauge {
namespace {

TEST(Results, CellsAreRowMajorInTheOrderOfDims) {
  Results r;
  r.set_coord("layer", std::vector<double>{0, 1});
  r.set_coord("head", std::vector<double>{0, 1, 2});
  r.set_coord("length", std::vector<double>{8, 16, 32, 64});
  LabelledArray& m = r.add_metric("m", {"layer", "head", "length"}, "1");
  ASSERT_EQ(m.values.size(), 24u);
  m.values[1 * 12 + 2 * 4 + 3] = 5.0;
  EXPECT_EQ(r.at("m", {1, 2, 3}), 5.0);
  EXPECT_TRUE(std::isnan(r.at("m", {1, 2, 2}))) << "cells start undefined";
}

TEST(Results, ReferenceToAMetricOutlivesLaterAdditions) {
  Results r;
  r.set_coord("layer", std::vector<double>{0});
  LabelledArray& first = r.add_metric("first", {"layer"}, "1");
  for (int i = 0; i < 200; ++i) r.add_metric(fmt::format("m{}", i), {"layer"}, "1");
  first.values[0] = 3.0;
  EXPECT_EQ(&first, r.metric("first"));
  EXPECT_EQ(r.at("first", {0}), 3.0);
}

TEST(Results, MisuseIsAUsageErrorThatNamesWhatThereIs) {
  Results r = made_results();
  const auto message = [](const auto& call) -> std::string {
    try {
      call();
    } catch (const UsageError& error) {
      return error.what();
    }
    return "nothing thrown";
  };
  EXPECT_NE(message([&] { r.add_metric("n", {"nowhere"}, "1"); }).find("\"nowhere\""),
            std::string::npos);
  EXPECT_NE(message([&] { r.add_metric("loss", {"length"}, "1"); }).find("\"loss\" twice"),
            std::string::npos);
  EXPECT_NE(message([&] { r.at("nothing", {0}); }).find("entropy, distance"), std::string::npos);
  EXPECT_NE(message([&] {
              r.at("entropy", {0, 3, 0});
            }).find("below 3 along \"head\""),
            std::string::npos);
  EXPECT_NE(message([&] { r.at("entropy", {0, 0}); }).find("3 indices"), std::string::npos);
  EXPECT_NE(message([&] { r.coord_numbers("layer_type"); }).find("names"), std::string::npos);
}

TEST(Results, SettingACoordinateAgainReplacesIt) {
  Results r;
  r.set_coord("length", std::vector<double>{8});
  r.set_coord("length", std::vector<double>{8, 16});
  EXPECT_EQ(r.coords.size(), 1u);
  EXPECT_EQ(r.coord_size("length"), 2);
}

}  // namespace
}  // namespace headgauge
