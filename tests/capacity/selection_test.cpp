// Every row metric of the distance and separability groups against the oracle.
#include <gtest/gtest.h>

#include "capacity/made_heads.hpp"

namespace headgauge {
namespace {

struct Case {
  std::string name;
  HeadKind kind;
  bool unit_sphere = true;
};

void PrintTo(const Case& test, std::ostream* out) {
  *out << test.name;
}

HeadKind kind(Index length, Index dimension, double sharpness, Index vocabulary = 0,
              double drift = 0, double uneven = 0, std::uint64_t seed = 1,
              Visibility visibility = Visibility::causal()) {
  return {length, dimension, sharpness, vocabulary, drift, uneven, seed, visibility};
}

std::vector<Case> cases() {
  return {
      {"plain", kind(100, 16, 1.0)},
      {"plane", kind(90, 2, 1.0)},
      {"wide", kind(60, 64, 2.0, 0, 0.5, 0.3)},
      {"repeated_tokens", kind(100, 16, 1.0, 12, 0.5, 0.3)},
      {"two_tokens", kind(64, 8, 1.5, 2)},
      {"diffuse", kind(70, 8, 0.01, 0, 1.0)},
      {"sharp", kind(70, 8, 12.0, 0, 0.5, 0.3)},
      {"uneven", kind(70, 16, 2.0, 0, 0.0, 2.0)},
      {"as_they_are", kind(70, 16, 1.0, 0, 0.5, 0.3), false},
      {"as_they_are_repeated", kind(70, 16, 1.0, 9, 0.5, 0.3), false},
      {"window", kind(110, 12, 1.0, 0, 0.5, 0.3, 1, Visibility::sliding_window(70))},
      {"window_repeated", kind(110, 12, 1.0, 15, 0.5, 0.3, 1, Visibility::sliding_window(50))},
      {"full", kind(60, 12, 1.0, 0, 0.5, 0.3, 1, Visibility::full())},
  };
}

class SelectionRows : public testing::TestWithParam<Case> {};

TEST_P(SelectionRows, AgreeWithTheDefinitions) {
  const MadeHead head = make_head(GetParam().kind);
  MeasureOptions options;
  options.top_n = {1, 2, 5, 20, 48};
  options.unit_sphere = GetParam().unit_sphere;
  options.critical_max = 30;
  SelectionDriver driver(options, {});
  const RowValues values = driver.run(head, 37);
  std::map<std::string, double> worst;
  for (Index q = 0; q < head.length(); ++q) {
    const oracle::Row row = oracle_row(head, q, options.unit_sphere);
    for (std::size_t place = 0; place < options.top_n.size(); ++place) {
      const auto size = static_cast<std::size_t>(options.top_n[place]);
      const auto at = [&](const std::string& metric) {
        return values.find(metric)->second(q, static_cast<Index>(place));
      };
      if (size >= row.a.size()) {
        EXPECT_TRUE(std::isnan(at("distance")));
        EXPECT_TRUE(std::isnan(at("separability")));
        continue;
      }
      for (const auto& [metric, expected] : oracle::measure(row, size)) {
        const double found = at(metric);
        // Ratios and their bounds are measured against 1, the rest against themselves.
        const bool is_ratio = metric.starts_with("separability");
        const double scale = std::max(std::abs(expected), is_ratio ? 1.0 : 1e-6);
        const bool counts = metric == "separability" || metric == "separability_lower";
        const double error = std::abs(found - expected) / (counts ? 1.0 : scale);
        worst[metric] = std::max(worst[metric], error);
        EXPECT_LE(error, counts ? 1e-9 : 1e-4) << metric << " of row " << q << " at N = " << size
                                               << ": " << found << ", expected " << expected;
      }
    }
    for (Index n = 1; n <= options.critical_max; ++n) {
      const double distance = values.find("distance_at_n")->second(q, n - 1);
      const double excess = values.find("context_excess_at_n")->second(q, n - 1);
      if (n >= static_cast<Index>(row.a.size())) {
        EXPECT_TRUE(std::isnan(distance));
        continue;
      }
      const auto size = static_cast<std::size_t>(n);
      const double expected = oracle::distance(row, size);
      EXPECT_NEAR(distance, expected, 1e-4 * expected);
      const double context = oracle::context_distance(row, size);
      EXPECT_NEAR(distance - excess, context, 1e-4 * std::max(context, 1e-6));
    }
    if (testing::Test::HasFailure()) break;
  }
  for (const auto& [metric, error] : worst) RecordProperty(metric, std::to_string(error));
}

INSTANTIATE_TEST_SUITE_P(Kinds, SelectionRows, testing::ValuesIn(cases()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace headgauge
