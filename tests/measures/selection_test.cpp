// Every row metric of the distance and separability groups against the oracle.
#include <gtest/gtest.h>

#include <numeric>

#include "base/random.hpp"
#include "faults.hpp"
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
      {"mask_gaps", kind(150, 12, 1.0, 0, 0.5, 0.3, 1, masked("bigbird:window=9,random=20"))},
      {"mask_repeated", kind(160, 12, 1.0, 15, 0.5, 0.3, 1, masked("bigbird:window=9"))},
      {"mask_few_repeated", kind(160, 12, 1.0, 90, 0, 0.3, 1, masked("sinks:sinks=3,window=8"))},
      {"mask_of_logits", kind(120, 12, 2.0, 0, 0.5, 0.3, 1, masked("topk:k=30"))},
      {"mask_full",
       kind(130, 12, 1.0, 0, 0.5, 0.3, 1, masked("window:size=40,global=3", Visibility::full()))},
      {"mask_in_window", kind(130, 12, 1.0, 0, 0.5, 0.3, 1,
                              masked("bigbird:window=7,random=9", Visibility::sliding_window(90)))},
      {"mask_diffuse", kind(150, 8, 0.01, 0, 1.0, 0, 1, masked("bigbird:window=10,random=10"))},
      {"mask_sharp", kind(120, 8, 12.0, 0, 0.5, 0.3, 1, masked("sinks:sinks=5,window=25"))},
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
    head_.layer = 2;
    head_.head = 3;
    head_.document = 1;
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
          EXPECT_TRUE(std::isnan(at("separability_with_sinks")));
          continue;
        }
        for (const auto& [metric, expected] : oracle::measure(row, size)) {
          if (std::ranges::find(left_out, metric) != left_out.end()) continue;
          // Ratios and their bounds are measured against 1, the rest against themselves.
          const bool is_ratio = metric.starts_with("separability");
          const double scale = std::max(std::abs(expected), is_ratio ? 1.0 : 1e-6);
          const bool is_count =
              metric == "separability_with_sinks" || metric == "separability_lower";
          EXPECT_NEAR(at(metric), expected, is_count ? 1e-9 : 1e-4 * scale)
              << metric << " of row " << q << " at N = " << size;
        }
      }
    }
  }

  // The nulls of the rows that have them, from the definition of the draws.
  void compare_nulls(const RowValues& values) {
    Index measured = 0;
    for (Index q = 0; q < head_.length() && !HasFailure(); ++q) {
      const oracle::Row any = permuted_row(q, RandomDomain::separability_pairing, 1 << 20);
      const oracle::Row local = permuted_row(q, RandomDomain::separability_pairing_local, 32);
      for (Index place = 0; place < std::ssize(sizes_); ++place) {
        const std::size_t size = sizes_[place];
        const bool too_short = size >= any.a.size();
        const auto at = [&](const std::string& metric) {
          return values.find(metric)->second(q, place);
        };
        const auto check = [&](const char* metric, Index every, const char* excess,
                               const oracle::Row& row, const std::vector<oracle::Vector>& points) {
          if (too_short || (q + head_.head) % every != 0) {
            EXPECT_TRUE(std::isnan(at(metric))) << metric << " of row " << q;
            return;
          }
          const auto found = oracle::separate(row, points, size);
          const auto distinguishable = std::count(found.apart.begin(), found.apart.end(), true);
          const double expected = static_cast<double>(distinguishable) / static_cast<double>(size);
          EXPECT_NEAR(at(metric), expected, 1e-9)
              << metric << " of row " << q << " at N = " << size;
          ++measured;
          if (excess == nullptr) return;
          EXPECT_NEAR(at(excess), at("separability_with_sinks") - expected, 1e-9);
        };
        check("separability_null_with_sinks", 2, "separability_excess_with_sinks", any, any.points);
        check("separability_null_local", 8, "separability_excess_local", local, local.points);
        check("separability_sphere", 8, nullptr, any, sphere_points_of(q));
      }
    }
    EXPECT_GT(measured, head_.length());
  }

  RandomStream stream_of(Index q, RandomDomain domain) const {
    return {options_.seed, domain, static_cast<std::uint32_t>(head_.layer * 65536 + head_.head),
            static_cast<std::uint32_t>(q + (head_.document << 20))};
  }

  // The row with its weights permuted within blocks of `block` keys, counted from the last.
  oracle::Row permuted_row(Index q, RandomDomain domain, Index block) const {
    const Vectors x = head_.x();
    const std::vector<Index> keys = visible_keys(head_, q);
    const Index n = std::ssize(keys);
    std::vector<Index> to(n);
    std::iota(to.begin(), to.end(), Index{0});
    const RandomStream random = stream_of(q, domain);
    for (Index last = n - 1; last > 0; --last) {
      const Index step = n - 1 - last;
      const Index first = std::max<Index>(0, n - block * (step / block + 1));
      const std::uint64_t word = random.block(static_cast<std::uint32_t>(step / 4))[step % 4];
      const auto pick = static_cast<Index>((word * (last - first + 1)) >> 32);
      std::swap(to[last], to[first + pick]);
    }
    std::vector<float> logits(n);
    std::vector<oracle::Vector> vectors;
    for (Index i = 0; i < n; ++i) {
      logits[to[i]] = head_.logits(q, keys[i]);
      vectors.emplace_back(x[keys[i]].begin(), x[keys[i]].end());
    }
    return {logits, std::move(vectors), options_.unit_sphere};
  }

  // z of the keys that row `q` sees, from the definition of the draws.
  std::vector<oracle::Vector> sphere_points_of(Index q) const {
    const auto dimension = static_cast<std::uint32_t>(head_.rows.cols());
    std::vector<oracle::Vector> points;
    const Index n = std::ssize(visible_keys(head_, q));
    const std::uint64_t word = stream_of(q, RandomDomain::separability_pairing)
                                   .block(static_cast<std::uint32_t>(n / 4))[n % 4];
    const auto first = static_cast<Index>((word * (head_.length() - n + 1)) >> 32);
    for (Index j = first; j < first + n; ++j) {
      oracle::Vector z(dimension);
      RandomStream(options_.seed, RandomDomain::sphere_points, dimension,
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

// Sets of a share of the keys are those of N = round(share n), the nulls of the same rows included.
TEST_P(SelectionRows, SharesAgreeWithTheDefinitions) {
  options_.top_share = {0.5, 0.02, 0.1, 0.35, 0.1};  // in any order, and repeated
  options_.lengths = {static_cast<int>(head_.length())};
  const std::vector<double> shares = {0.02, 0.1, 0.35, 0.5};
  SelectionDriver driver(options_, {.coverage = false, .proportion = true});
  const RowValues values = driver.run(head_);
  Index measured = 0;
  for (Index q = 0; q < head_.length() && !HasFailure(); ++q) {
    if (!looked_at(q)) continue;
    const oracle::Row row = oracle_row(head_, q, options_.unit_sphere);
    const auto n = static_cast<double>(row.a.size());
    for (std::size_t s = 0; s < shares.size(); ++s) {
      const auto at = [&](const std::string& metric) {
        return values.find(metric + "_at_share")->second(q, static_cast<Index>(s));
      };
      if (n < 2 || shares[s] * n < 1) {
        EXPECT_TRUE(std::isnan(at("margin")) && std::isnan(at("separability")));
        EXPECT_TRUE(std::isnan(at("selected_mass")) && std::isnan(at("separability_excess")));
        continue;
      }
      ++measured;
      const auto size = static_cast<std::size_t>(std::lround(shares[s] * n));
      auto expected = oracle::measure(row, size);
      EXPECT_NEAR(at("selected_mass"), expected["selected_mass"], 1e-5) << q;
      EXPECT_NEAR(at("margin"), expected["margin"], 1e-4 * std::max(expected["margin"], 1e-6)) << q;
      EXPECT_NEAR(at("separability"), expected["separability_with_sinks"], 1e-9)
          << q << " at N = " << size;
      if ((q + head_.head) % 2 != 0) {
        EXPECT_TRUE(std::isnan(at("separability_excess")));
        continue;
      }
      const oracle::Row permuted =
          permuted_row(q, RandomDomain::separability_pairing, Index{1} << 20);
      const auto apart = oracle::separate(permuted, permuted.points, size).apart;
      const auto null = std::count(apart.begin(), apart.end(), true);
      EXPECT_NEAR(at("separability_excess"),
                  at("separability") - static_cast<double>(null) / static_cast<double>(size), 1e-9);
    }
  }
  EXPECT_GT(measured, head_.length() / 2);
}

TEST_P(SelectionRows, AgreeWithTheDefinitions) {
  SelectionDriver driver(options_, {});
  const RowValues values = driver.run(head_, 37);
  compare(values, {});
  compare_nulls(values);
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
  compare_nulls(values);
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
  MeasureOptions options;
  options.lengths = {100};
  SelectionDriver driver(options, {}, 1, 0);
  driver.run(make_head(kind(100, 16, 2.0, 40, 0.5, 0.3)));
  Results results;
  results.set_coord("layer", std::vector<double>{});
  for (const char* dim : {"head", "length", "top_n"}) {
    results.set_coord(dim, std::vector<double>{0});
  }
  driver.measure().derive({}, results);
  ASSERT_EQ(results.notices.size(), 1u);
  expect_part(results.notices[0], "critical N");
}

TEST(Selection, SameBitsOnAnyNumberOfThreads) {
  const MadeHead head = make_head(kind(300, 16, 2.0, 40, 0.5, 0.3));
  const MeasureOptions options;
  SelectionDriver one(options, {}, 1), three(options, {}, 3);
  expect_same_values(three.run(head), one.run(head));
}

TEST(Selection, VectorsOfLengthZeroStayZero) {
  for (const bool gaps : {false, true}) {
    MadeHead head = make_head(kind(60, 8, 1.0, 10));
    if (gaps) head.visibility = masked("bigbird:window=4,random=9,global=1");
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
        for (const char* metric : {"distance", "separability_with_sinks", "expected_distance"}) {
          const double expected = oracle::measure(row, size).at(metric);
          EXPECT_NEAR(values.find(metric)->second(q, static_cast<Index>(place)), expected,
                      1e-4 * std::max(1.0, expected))
              << metric << " of row " << q << " at N = " << size;
        }
      }
    }
  }
}

// Where all keys weigh the same, or are the same vector, it does not matter which has which weight.
TEST(Selection, NothingExceedsTheNullWhereKeysAreAlike) {
  for (const bool gaps : {false, true}) {
    for (const bool equal_weights : {false, true}) {
      MadeHead head = make_head(kind(150, 12, 2.0, equal_weights ? 0 : 1));
      if (gaps) head.visibility = masked("bigbird:window=6,random=20,global=1");
      if (equal_weights) {
        for (Index q = 0; q < head.length(); ++q) std::ranges::fill(head.logits.row(q), 0.5f);
      }
      MeasureOptions options;
      options.top_n = {1, 5, 20};
      const RowValues values = SelectionDriver(options, {}).run(head);
      Index measured = 0;
      for (const char* metric : {"separability_excess_with_sinks", "separability_excess_local"}) {
        const Matrix<double>& excess = values.find(metric)->second;
        for (Index q = 0; q < head.length(); ++q) {
          for (Index place = 0; place < 3; ++place) {
            if (std::isnan(excess(q, place))) continue;
            ++measured;
            ASSERT_EQ(excess(q, place), 0.0) << metric << " of row " << q;
          }
        }
      }
      EXPECT_GT(measured, 100);
    }
  }
}

// Rows without a gap are ranges, whatever hides the others: the same bits, the bounds included.
TEST(Selection, AWindowAsAMaskIsASlidingWindow) {
  for (const Index vocabulary : {0, 30}) {
    for (const std::size_t limit : {kGramLimit, std::size_t{0}}) {
      MadeHead head = make_head(kind(200, 16, 2.0, vocabulary, 0.5, 0.3));
      const MeasureOptions options;
      head.visibility = Visibility::sliding_window(70);
      const RowValues window = SelectionDriver(options, {}, 1, limit).run(head);
      head.visibility = masked("window:size=70");
      expect_same_values(SelectionDriver(options, {}, 1, limit).run(head), window);
    }
  }
}

}  // namespace
}  // namespace headgauge
