#include "headgauge/results.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "faults.hpp"
#include "results/made_results.hpp"

namespace headgauge {
namespace {

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
  const auto expect = [](const auto& call, const std::string& part) {
    expect_part(thrown<UsageError>(call), part);
  };
  expect([&] { r.add_metric("n", {"nowhere"}, "1"); }, "\"nowhere\"");
  expect([&] { r.add_metric("loss", {"length"}, "1"); }, "\"loss\" twice");
  expect([&] { r.at("nothing", {0}); }, "entropy_with_sinks, distance");
  expect([&] { r.coord_numbers("layer_type"); }, "names");
}

TEST(Results, SettingACoordinateRelabelsItsMetrics) {
  Results r;
  r.set_coord("layer", std::vector<double>{0, 1});
  r.set_coord("length", std::vector<double>{8, 16});
  r.set_coord("length", std::vector<double>{8, 16, 32});  // before there are metrics, of any size
  r.add_metric("m", {"layer", "length"}, "1").values = {1, 2, 3, 4, 5, 6};
  r.add_metric("of_layers", {"layer"}, "1");
  r.set_coord("length", std::vector<double>{10, 20, 30});
  EXPECT_EQ(r.metric("m")->dim("length"), r.require_coord("length"));
  EXPECT_EQ(r.metric("m")->sel("length", 20.0).values, (std::vector<double>{2, 5}));
  r.set_coord("length", std::vector<std::string>{"short", "middle", "long"});
  EXPECT_EQ(r.metric("m")->sel("length", "long").values, (std::vector<double>{3, 6}));
  EXPECT_EQ(r.coords.size(), 2u);
  const std::vector<double> two{10, 20};
  EXPECT_EQ(thrown<UsageError>([&] { r.set_coord("length", two); }),
            "results: expected 3 labels of \"length\", found 2");
  EXPECT_EQ(r.coord_names("length")[2], "long") << "nothing changed";
  EXPECT_EQ(r.metric("m")->dim("length").size(), 3);
}

TEST(Results, AnAddedArrayBringsItsCoordinates) {
  Results r;
  r.set_coord("layer", std::vector<double>{4, 9});
  const Dimension layer = r.require_coord("layer"),
                  normalizer("normalizer", std::vector<std::string>{"a"});
  LabelledArray array({layer, normalizer}, "keys");
  array.values = {1, 2};
  const LabelledArray& added = r.add_metric("m", array);
  EXPECT_EQ(&added, r.metric("m"));
  EXPECT_EQ(added.unit, "keys");
  EXPECT_EQ(r.require_coord("normalizer"), normalizer);
  EXPECT_EQ(r.at("m", {1, 0}), 2);
  const auto message = [&](const std::string& name, LabelledArray other) {
    return thrown<UsageError>([&] { r.add_metric(name, std::move(other)); });
  };
  EXPECT_EQ(message("m", LabelledArray({layer})),
            "results: expected a metric not yet there, found \"m\" twice");
  EXPECT_EQ(message("n", LabelledArray({{"layer", std::vector<double>{4, 8}}})),
            "results: expected the labels of \"layer\" that are there, found others");
  EXPECT_EQ(r.metric("n"), nullptr);
  EXPECT_EQ(r.metrics.size(), 1u);
  EXPECT_EQ(message("n", LabelledArray({layer.take(std::vector<Index>{0, 1})})), "nothing");
}

TEST(Results, TheCatalogueGivesItsMetricsTheirMeaning) {
  Results r;
  r.set_coord("length", std::vector<double>{8});
  EXPECT_EQ(r.add_metric("critical_n", {"length"}, "keys").none, -1);
  EXPECT_TRUE(r.add_metric("top_overlap_partner", {"length"}, "1").identifier);
  EXPECT_EQ(r.add_metric("mine", {"length"}, "1").none, std::nullopt);
}

}  // namespace
}  // namespace headgauge
