// Every row metric of the distance and separability groups against the oracle.
#include <gtest/gtest.h>

#include "base/random.hpp"
#include "headgauge/patterns.hpp"
#include "headgauge/results.hpp"
#include "measures/made_heads.hpp"

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

// The visibility with a pattern that leaves some of its keys.
Visibility masked(const std::string& pattern, Visibility visibility = Visibility::causal()) {
  HeadInput head;
  head.visibility = std::move(visibility);
  return head.visibility.masked(make_pattern(pattern)->mask(head));
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
      {"mask_window", kind(110, 12, 1.0, 0, 0.5, 0.3, 1, masked("window:size=55"))},
      {"mask_gaps", kind(150, 12, 1.0, 0, 0.5, 0.3, 1, masked("strided:stride=13"))},
      {"mask_repeated", kind(160, 12, 1.0, 15, 0.5, 0.3, 1, masked("bigbird:window=9"))},
      {"mask_few_repeated", kind(160, 12, 1.0, 90, 0, 0.3, 1, masked("sinks:sinks=3,window=8"))},
      {"mask_of_logits", kind(120, 12, 2.0, 0, 0.5, 0.3, 1, masked("topk:k=30"))},
      {"mask_full",
       kind(130, 12, 1.0, 0, 0.5, 0.3, 1, masked("fixed:stride=12,summary=3", Visibility::full()))},
      {"mask_in_window", kind(130, 12, 1.0, 0, 0.5, 0.3, 1,
                              masked("strided:stride=7", Visibility::sliding_window(90)))},
      {"mask_diffuse", kind(150, 8, 0.01, 0, 1.0, 0, 1, masked("strided:stride=10"))},
      {"mask_sharp", kind(120, 8, 12.0, 0, 0.5, 0.3, 1, masked("fixed:stride=20"))},
      {"mask_two_tokens", kind(100, 8, 1.5, 2, 0, 0, 1, masked("bigbird:window=9"))},
      {"mask_as_they_are", kind(110, 12, 1.0, 0, 0.5, 0.3, 1, masked("topk:k=25")), false},
  };
}

// Every third row, and all of the first ones.
bool looked_at(Index row) {
  return row < 12 || row % 3 == 0;
}

class SelectionRows : public ::testing::TestWithParam<Case> {
 protected:
  SelectionRows() : head_(make_head(GetParam().kind)) {
    options_.top_n = {20, 1, 5, 2, 48, 5};  // in any order, and repeated
    options_.unit_sphere = GetParam().unit_sphere;
    options_.critical_max = 30;
  }

  // Compares the metrics that hold a value for each N of top_n, but those left out.
  void compare(const RowValues& values, const std::vector<std::string>& left_out) {
    for (Index q = 0; q < head_.length() && !HasFailure(); ++q) {
      if (!looked_at(q)) continue;
      const oracle::Row row = oracle_row(head_, q, options_.unit_sphere);
      for (Index place = 0; place < std::ssize(sizes_); ++place) {
        const std::size_t size = sizes_[place];
        const auto at = [&](const std::string& metric) {
          return values.find(metric)->second(q, place);
        };
        if (size >= row.a.size()) {
          EXPECT_TRUE(std::isnan(at("distance")));
          EXPECT_TRUE(std::isnan(at("separability")));
          continue;
        }
        for (const auto& [metric, expected] : oracle::measure(row, size)) {
          if (std::ranges::find(left_out, metric) != left_out.end()) continue;
          // Ratios and their bounds are measured against 1, the rest against themselves.
          const bool is_ratio = metric.starts_with("separability");
          const double scale = std::max(std::abs(expected), is_ratio ? 1.0 : 1e-6);
          const bool is_count = metric == "separability" || metric == "separability_lower";
          EXPECT_NEAR(at(metric), expected, is_count ? 1e-9 : 1e-4 * scale)
              << metric << " of row " << q << " at N = " << size;
        }
        const oracle::Separation blind = oracle::separate(row, null_points(q), size);
        const auto distinguishable = std::count(blind.apart.begin(), blind.apart.end(), true);
        EXPECT_NEAR(at("separability_null"),
                    static_cast<double>(distinguishable) / static_cast<double>(size), 1e-9)
            << "row " << q << " at N = " << size;
      }
    }
  }

  // z of the keys that row `q` sees, from the definition of the draws.
  std::vector<oracle::Vector> null_points(Index q) const {
    const auto dimension = static_cast<std::uint32_t>(head_.rows.cols());
    std::vector<oracle::Vector> points;
    for (const Index j : visible_keys(head_, q)) {
      oracle::Vector z(dimension);
      RandomStream(options_.seed, RandomDomain::separability_null, dimension,
                   static_cast<std::uint32_t>(j))
          .normals(z);
      points.push_back(z);
    }
    return oracle::on_sphere(points);
  }

  MadeHead head_;
  MeasureOptions options_;
  std::vector<int> sizes_ = {1, 2, 5, 20, 48};  // the values along top_n
};

TEST_P(SelectionRows, AgreeWithTheDefinitions) {
  SelectionDriver driver(options_, {});
  const RowValues values = driver.run(head_, 37);
  compare(values, {});
  for (Index q = 0; q < head_.length() && !HasFailure(); ++q) {
    if (!looked_at(q)) continue;
    const oracle::Row row = oracle_row(head_, q, options_.unit_sphere);
    for (Index n = 1; n <= options_.critical_max; ++n) {
      const double distance = values.find("distance_at_n")->second(q, n - 1);
      const double excess = values.find("context_excess_at_n")->second(q, n - 1);
      const auto size = static_cast<std::size_t>(n);
      if (size >= row.a.size()) {
        EXPECT_TRUE(std::isnan(distance));
        continue;
      }
      const double expected = oracle::distance(row, size);
      EXPECT_NEAR(distance, expected, 1e-4 * expected) << "row " << q << " at N = " << n;
      const double context = oracle::context_distance(row, size);
      EXPECT_NEAR(distance - excess, context, 1e-4 * std::max(context, 1e-6));
    }
  }
}

// Without room for the Gram matrix everything is projected; what needs all distances is left out.
TEST_P(SelectionRows, AgreeWhenProjected) {
  SelectionDriver driver(options_, {}, 1, 0);
  const RowValues values = driver.run(head_, 64);
  compare(values, {"distance_bound", "distance_bound_paper"});
  for (Index q = 0; q < head_.length(); ++q) {
    for (Index place = 0; place < std::ssize(sizes_); ++place) {
      const auto at = [&](const char* metric) { return values.find(metric)->second(q, place); };
      EXPECT_TRUE(std::isnan(at("distance_bound_paper")));
      if (!std::isnan(at("distance"))) {
        EXPECT_GE(at("distance_bound"), at("distance") * (1.0 - 1e-5));
      }
    }
    EXPECT_TRUE(std::isnan(values.find("distance_at_n")->second(q, 0)));
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, SelectionRows, ::testing::ValuesIn(cases()),
                         [](const auto& test) { return test.param.name; });

TEST(Selection, SaysWhatIsLeftOutForLackOfMemory) {
  for (const int draws : {0, 8}) {
    MeasureOptions options;
    options.lengths = {100};
    options.expected_draws = draws;
    SelectionDriver driver(options, {}, 1, 0);
    driver.run(make_head(kind(100, 16, 2.0, 40, 0.5, 0.3)));
    Results results;
    results.set_coord("layer", std::vector<double>{});
    for (const char* dim : {"head", "length", "top_n"}) {
      results.set_coord(dim, std::vector<double>{0});
    }
    driver.measure().derive({}, results);
    ASSERT_EQ(results.notices.size(), 1u);
    EXPECT_NE(results.notices[0].find("critical N"), std::string::npos);
    EXPECT_EQ(results.notices[0].find("--expected-draws") != std::string::npos, draws > 0);
  }
}

TEST(Selection, SameBitsOnAnyNumberOfThreads) {
  const MadeHead head = make_head(kind(300, 16, 2.0, 40, 0.5, 0.3));
  MeasureOptions options;
  options.expected_draws = 8;
  SelectionDriver one(options, {}, 1), three(options, {}, 3);
  const RowValues first = one.run(head), second = three.run(head);
  for (const auto& [metric, values] : first) {
    const Matrix<double>& others = second.find(metric)->second;
    for (Index r = 0; r < values.rows(); ++r) {
      for (Index c = 0; c < values.cols(); ++c) {
        const double a = values(r, c), b = others(r, c);
        EXPECT_TRUE(a == b || (std::isnan(a) && std::isnan(b))) << metric << " of row " << r;
      }
    }
  }
}

TEST(Selection, VectorsOfLengthZeroStayZero) {
  for (const bool gaps : {false, true}) {
    MadeHead head = make_head(kind(60, 8, 1.0, 10));
    if (gaps) head.visibility = masked("strided:stride=4");
    std::ranges::fill(head.rows.row(3), 0.0f);
    MeasureOptions options;
    options.top_n = {1, 2, 5, 10};
    SelectionDriver driver(options, {});
    const RowValues values = driver.run(head);
    for (Index q = 0; q < head.length(); ++q) {
      const oracle::Row row = oracle_row(head, q);
      for (std::size_t place = 0; place < options.top_n.size(); ++place) {
        const auto size = static_cast<std::size_t>(options.top_n[place]);
        if (size >= row.a.size()) continue;
        for (const char* metric : {"distance", "separability", "expected_distance"}) {
          const double expected = oracle::measure(row, size).at(metric);
          EXPECT_NEAR(values.find(metric)->second(q, static_cast<Index>(place)), expected,
                      1e-4 * std::max(1.0, expected))
              << metric << " of row " << q << " at N = " << size;
        }
      }
    }
  }
}

// Rows without a gap are ranges, whatever hides the others: the same bits, the bounds included.
TEST(Selection, AWindowAsAMaskIsASlidingWindow) {
  for (const Index vocabulary : {0, 30}) {
    for (const std::size_t limit : {kGramLimit, std::size_t{0}}) {
      MadeHead head = make_head(kind(200, 16, 2.0, vocabulary, 0.5, 0.3));
      MeasureOptions options;
      options.expected_draws = 4;
      head.visibility = Visibility::sliding_window(70);
      const RowValues window = SelectionDriver(options, {}, 1, limit).run(head);
      head.visibility = masked("window:size=70");
      const RowValues mask = SelectionDriver(options, {}, 1, limit).run(head);
      for (const auto& [metric, values] : window) {
        const Matrix<double>& others = mask.find(metric)->second;
        for (Index r = 0; r < values.rows(); ++r) {
          for (Index c = 0; c < values.cols(); ++c) {
            const double a = values(r, c), b = others(r, c);
            ASSERT_TRUE(a == b || (std::isnan(a) && std::isnan(b)))
                << metric << " of row " << r << ": " << a << " and " << b;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace headgauge
