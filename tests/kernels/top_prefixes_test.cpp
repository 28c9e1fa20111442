#include "kernels/top_prefixes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "kernels/levels.hpp"
#include "kernels/top_prefix_members.hpp"
#include "kernels/top_prefix_sums.hpp"

namespace headgauge {
namespace {

// A Gram-like matrix and one row over it, with all its columns in float64.
struct PrefixOutput {
  Index rows = 0;  // of the matrix
  Index first_panel = 0;
  Index begin = 0, end = 0;  // columns that are keys, from the row's first panel on
  Index panels = 0;
  PackedMatrix gram;
  std::vector<std::uint32_t> member_rows;
  std::vector<Index> member_columns;
  std::vector<PrefixEvent> events;
  std::vector<int> first_event;
  std::vector<std::int32_t> rank;
  std::vector<float> first, second;  // coefficients
  std::vector<float> weight, projection, norm;

  Index columns() const { return panels * kPrefixColumns; }
  double product(Index member, Index column) const {
    const float* panel = gram.panel(first_panel + column / kPrefixColumns);
    return panel[member_rows[member] * kPrefixColumns + column % kPrefixColumns];
  }
  // The sum over the first n members.
  double sum(const std::vector<float>& coefficient, int n, Index column) const {
    double total = 0;
    for (int k = 0; k < n; ++k) {
      total += coefficient[k] * product(k, column);
    }
    return total;
  }
  PrefixRow row() const {
    return {first_panel,        panels,     member_rows.data(), events.data(),
            first_event.data(), rank.data()};
  }
};

PrefixOutput make_prefix(Index first_panel, Index begin, Index end, int members,
                         std::uint64_t seed) {
  Generator generator(seed);
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  PrefixOutput w;
  w.rows = 70;
  w.first_panel = first_panel;
  w.begin = begin;
  w.end = end;
  w.panels = (end + kPrefixColumns - 1) / kPrefixColumns;
  w.gram = PackedMatrix(w.rows, (first_panel + w.panels) * kPrefixColumns);
  for (Index p = 0; p < w.gram.panels(); ++p) {
    std::generate_n(w.gram.panel(p), w.rows * kPrefixColumns, [&] { return uniform(generator); });
  }
  std::vector<Index> keys(end - begin);
  std::iota(keys.begin(), keys.end(), begin);
  std::shuffle(keys.begin(), keys.end(), generator);
  w.rank.assign(w.columns(), kNoKey);
  for (const Index key : keys) w.rank[key] = kUnranked;
  for (int k = 0; k < members; ++k) {
    const Index column = keys[k];
    w.member_columns.push_back(column);
    w.member_rows.push_back(static_cast<std::uint32_t>(generator() % 70));
    w.rank[column] = k;
    w.first.push_back(std::abs(uniform(generator)));
    w.second.push_back(std::abs(uniform(generator)));
  }
  for (Index p = 0; p < w.panels; ++p) {
    w.first_event.push_back(static_cast<int>(w.events.size()));
    for (int k = 0; k < members; ++k) {
      const Index column = w.member_columns[k];
      if (column / kPrefixColumns == p) {
        w.events.push_back({k, static_cast<std::int32_t>(column % kPrefixColumns)});
      }
    }
  }
  w.first_event.push_back(static_cast<int>(w.events.size()));
  for (Index j = 0; j < w.columns(); ++j) {
    const bool key = j >= begin && j < end;
    w.weight.push_back(key ? std::abs(uniform(generator)) : 1.0f);
    w.projection.push_back(key ? uniform(generator) : std::numeric_limits<float>::infinity());
    w.norm.push_back(key ? 1.0f + uniform(generator) : 0.0f);
  }
  return w;
}

// Rows that fill a panel or not, begin within one, and have few or many members.
std::vector<PrefixOutput> outputs() {
  std::vector<PrefixOutput> all;
  all.push_back(make_prefix(0, 0, 2, 1, 1));
  all.push_back(make_prefix(0, 0, 48, 20, 2));
  all.push_back(make_prefix(0, 0, 49, 48, 3));
  all.push_back(make_prefix(0, 0, 131, 128, 4));
  all.push_back(make_prefix(2, 17, 111, 60, 5));
  all.push_back(make_prefix(1, 47, 300, 101, 6));
  return all;
}

class TopPrefixes : public EveryLevel {};
HEADGAUGE_EVERY_LEVEL(TopPrefixes);

TEST_P(TopPrefixes, PrefixesAgreeWithPlainSums) {
  for (const PrefixOutput& w : outputs()) {
    const int members = static_cast<int>(w.member_rows.size());
    std::vector<int> captures;
    for (const int size : {1, 2, 5, 20, 60, 100}) {
      if (size <= members) captures.push_back(size);
    }
    const auto count = std::ssize(captures);
    const auto depth = static_cast<Index>(members);
    for (const bool two : {false, true}) {
      std::vector<float> before(members, -9.0f);
      std::vector<float> stored(count * w.columns(), -9.0f);
      std::vector<float> lowest(count * kPrefixLanes, std::numeric_limits<float>::infinity());
      std::vector<float> inside(count * depth, -9.0f);
      PrefixSums prefix;
      prefix.row = w.row();
      prefix.captures = captures;
      prefix.first.coefficient = w.first.data();
      prefix.first.before = before.data();
      prefix.first.stored = stored.data();
      prefix.first.stored_stride = w.columns();
      if (two) prefix.second.coefficient = w.second.data();
      PrefixSum& compared = two ? prefix.second : prefix.first;
      compared.weight = w.weight.data();
      compared.lowest = lowest.data();
      compared.inside = inside.data();
      compared.inside_stride = depth;
      sum_top_prefixes(w.gram, {&prefix, 1});

      const double tolerance = 4.0 * members * kSingleRounding;
      for (int k = 0; k < members; ++k) {
        const Index column = w.member_columns[k];
        EXPECT_NEAR(before[k], w.sum(w.first, k, column), tolerance * members);
      }
      for (Index c = 0; c < count; ++c) {
        const int size = captures[c];
        double expected_lowest = std::numeric_limits<double>::infinity();
        for (Index j = 0; j < w.columns(); ++j) {
          EXPECT_NEAR(stored[c * w.columns() + j], w.sum(w.first, size, j), tolerance * size);
          const double sum = w.sum(two ? w.second : w.first, size, j);
          const double q = w.weight[j] * (w.weight[j] - 2.0 * sum);
          if (w.rank[j] >= size) expected_lowest = std::min(expected_lowest, q);
          if (w.rank[j] >= 0 && w.rank[j] < size) {
            EXPECT_NEAR(inside[c * depth + w.rank[j]], q, tolerance * size);
          }
        }
        const float* lanes = lowest.data() + c * kPrefixLanes;
        EXPECT_NEAR(*std::min_element(lanes, lanes + kPrefixLanes), expected_lowest,
                    tolerance * size);
        // The same from the sums alone.
        std::vector<float> again(count * kPrefixLanes, std::numeric_limits<float>::infinity());
        std::vector<float> members_again(inside.size());
        PrefixSums second_look = prefix;
        second_look.first.weight = w.weight.data();
        second_look.first.lowest = again.data();
        second_look.first.inside = members_again.data();
        second_look.first.inside_stride = depth;
        capture_prefixes({&second_look, 1});
        if (!two) {
          EXPECT_EQ(members_again[c * depth], inside[c * depth]);
        }
      }
    }
  }
}

TEST_P(TopPrefixes, DistancesAgreeWithPlainSums) {
  for (const PrefixOutput& w : outputs()) {
    const int members = static_cast<int>(w.member_rows.size());
    const int steps = static_cast<int>(std::min<Index>(members, w.end - w.begin - 1));
    std::vector<float> squares(steps);
    for (std::size_t k = 0; k < squares.size(); ++k) {
      squares[k] = 500.0f + static_cast<float>(k);  // as large as to keep every radicand positive
    }
    std::vector<float> distance(steps * kPrefixLanes, 0.0f), context = distance;
    PrefixDistances prefix;
    prefix.row = w.row();
    prefix.steps = steps;
    prefix.coefficient = w.first.data();
    prefix.weight = w.weight.data();
    prefix.projection = w.projection.data();
    prefix.norm = w.norm.data();
    prefix.set_square = squares.data();
    prefix.total_square = 300.0f;
    prefix.spread = 0.01f;
    prefix.distance = distance.data();
    prefix.context = context.data();
    sum_prefix_distances(w.gram, {&prefix, 1});
    for (int n = 1; n <= steps; ++n) {
      double expected_distance = 0, expected_context = 0;
      for (Index j = w.begin; j < w.end; ++j) {
        const double a = w.weight[j];
        if (w.rank[j] >= n) {
          expected_distance += std::sqrt(a * (a - 2.0 * w.sum(w.first, n, j)) + squares[n - 1]);
        }
        const double t = a + 0.01 * n * w.norm[j];
        expected_context += std::sqrt(t * (t - 2.0 * w.projection[j]) + 300.0);
      }
      const auto found = [&](const std::vector<float>& lanes) {
        const auto first = lanes.begin() + (n - 1) * kPrefixLanes;
        return std::accumulate(first, first + kPrefixLanes, 0.0);
      };
      EXPECT_NEAR(found(distance), expected_distance, 1e-4 * expected_distance);
      EXPECT_NEAR(found(context), expected_context, 1e-4 * expected_context);
    }
  }
}

TEST_P(TopPrefixes, RadicandsBelowZeroCountAsZero) {
  const std::vector<float> weight(kPrefixColumns, 1.0f), product(kPrefixColumns, 1.0f);
  const std::vector<std::int32_t> rank(kPrefixColumns, kUnranked);
  EXPECT_NEAR(sum_distances(weight, rank, product, 1, 0.5f), 0.0, 1e-12);
  EXPECT_NEAR(sum_distances(weight, rank, product, 1, 1.25f), kPrefixColumns * 0.5, 1e-5);
}

TEST_P(TopPrefixes, SumsOverColumns) {
  const PrefixOutput w = make_prefix(0, 3, 139, 30, 7);
  const Index columns = w.columns();
  const std::vector<float> product = normals(w.columns(), 8, 0.3);
  double expected = 0;
  for (Index j = 0; j < columns; ++j) {
    const double a = w.weight[j];
    if (w.rank[j] >= 5) expected += std::sqrt(std::max(a * (a - 2.0 * product[j]) + 2.0, 0.0));
  }
  EXPECT_NEAR(sum_distances(w.weight, w.rank, product, 5, 2.0f), expected, 1e-6 * expected);

  ExpectedCoefficients c;
  c.main_scale = 1.1f;
  c.main_linear = 0.2f;
  c.main_constant = 0.7f;
  c.upper_square = 1.15f;
  c.upper_linear = -0.21f;
  c.upper_constant = 0.9f;
  c.spread = 0.1f;
  c.total_square = 1.5f;
  double main = 0, upper = 0, context = 0;
  for (Index j = w.begin; j < w.end; ++j) {
    const double y = w.weight[j], z = w.projection[j], y1 = 1.1f * y;
    const double a = std::max(y1 * (y1 - static_cast<double>(0.2f) * z) + 0.7f, 0.0);
    const double b = 1.15f * y * y - 0.21f * y * z + 0.9f;
    const double t = y + 0.1f * w.norm[j];
    main += std::sqrt(a);
    upper += std::sqrt(std::max(a, b));
    context += std::sqrt(std::max(t * (t - 2 * z) + 1.5, 0.0));
  }
  const ExpectedSums sums = sum_expected(w.weight, w.projection, w.norm, c);
  EXPECT_NEAR(sums.main, main, 1e-6 * main);
  EXPECT_NEAR(sums.upper, upper, 1e-6 * upper);
  EXPECT_NEAR(sums.context, context, 1e-6 * context);

  std::vector<float> scaled(columns);
  const ScaledSums scaled_sums = scale_weights(product, w.norm, scaled);
  double absolute = 0, square = 0;
  for (Index j = 0; j < columns; ++j) {
    EXPECT_EQ(scaled[j], product[j] * w.norm[j]);
    absolute += std::abs(scaled[j]);
    square += static_cast<double>(scaled[j]) * scaled[j];
  }
  EXPECT_NEAR(scaled_sums.absolute, absolute, 1e-6 * absolute);
  EXPECT_NEAR(scaled_sums.square, square, 1e-6 * square);
}

TEST_P(TopPrefixes, FarthestKeyOutside) {
  const PrefixOutput w = make_prefix(0, 5, 140, 40, 9);
  std::vector<float> promise;
  double expected = -1e30;
  for (Index p = 0; p < w.panels; ++p) {
    float most = -1e30f;
    for (Index j = p * kPrefixColumns; j < (p + 1) * kPrefixColumns; ++j) {
      const float c = w.gram.panel(p)[11 * kPrefixColumns + j % kPrefixColumns];
      const float far = w.norm[j] * (w.norm[j] - 2.0f * 1.5f * c);
      most = std::max(most, far);
      if (w.rank[j] >= 10) expected = std::max<double>(expected, far);
    }
    promise.push_back(most);
  }
  const auto search = [&](float best) {
    return search_farthest(w.gram.panel(0) + 11 * kPrefixColumns, w.rows * kPrefixColumns,
                           w.norm.data(), w.rank.data(), promise, 10, 1.5f, best);
  };
  EXPECT_NEAR(search(-1e30f), expected, 1e-5);
  EXPECT_EQ(search(1e9f), 1e9f);
}

TEST_P(TopPrefixes, MembersComparedWithTheLowest) {
  for (const std::size_t n : {1u, 5u, 16u, 17u, 64u, 100u}) {
    std::vector<float> q = normals(static_cast<Index>(n) + kPrefixLanes, n);
    std::vector<float> weight = normals(static_cast<Index>(n) + kPrefixLanes, n + 1);
    const float lowest = 0.25f;
    if (n > 5) q[3] = lowest;
    std::vector<std::uint64_t> bits((n + 63) / 64, ~std::uint64_t{0});
    const auto compare = [&](float relative, float products) {
      return compare_members(std::span(q).first(n), std::span(weight).first(n), lowest, relative,
                             products, bits);
    };
    const MemberComparison found = compare(1e-6f, 1e-7f);
    int below = 0;
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const bool is_below = q[i] < lowest;
      below += is_below;
      sum += q[i];
      EXPECT_EQ(bits[i / 64] >> (i % 64) & 1, is_below ? 1u : 0u);
    }
    EXPECT_EQ(found.below, below);
    EXPECT_NEAR(found.sum, sum, 1e-4);
    EXPECT_EQ(found.close, n > 5);
    EXPECT_TRUE(compare(10.0f, 0.0f).close);
    EXPECT_TRUE(compare(0.0f, 1e6f).close);
  }
}

TEST_P(TopPrefixes, BoundsOfMembers) {
  for (const std::size_t n : {1u, 2u, 5u, 16u, 33u, 100u}) {
    std::vector<float> weight = normals(static_cast<Index>(n) + kPrefixLanes, n, 0.1);
    for (float& w : weight) w = std::abs(w);
    if (n > 2) weight[0] = 30.0f;  // one weight that is nearly all
    BoundFacts f;
    for (std::size_t i = 0; i < n; ++i) {
      f.mass += weight[i];
      f.squares += static_cast<double>(weight[i]) * weight[i];
    }
    f.radius = 0.6;
    f.largest2 = 1.44;
    f.nearest = 1.2;
    f.shrink2 = 1.0 / 1.5;
    MemberBounds expected;
    for (std::size_t i = 0; i < n; ++i) {
      double A = 0, B = 0;
      for (std::size_t j = 0; j < n; ++j) {
        if (j == i) continue;
        A += weight[j];
        B += static_cast<double>(weight[j]) * weight[j];
      }
      const double xi = std::sqrt(1.44 * B + 1.2 * (A * A - B)), v = 1.2 * std::sqrt(B);
      const double above = std::max(0.6 - v, 0.0), below = std::max(v / std::sqrt(1.5) - 0.6, 0.0);
      expected.xi += xi;
      expected.lower += xi < 0.6;
      expected.model_lower +=
          v == 0 ? 1.0
                 : std::max({0.0, 1 - v * v / 0.36, 1 - std::exp(-above * above / (2 * v * v))});
      expected.model_upper += v == 0 ? 1.0 : std::exp(-below * below / (2 * v * v));
      expected.upper_paper += std::exp(-(0.6 - xi) * (0.6 - xi) / (16 * 1.44));
    }
    const MemberBounds found = bound_members(std::span(weight).first(n), f);
    EXPECT_NEAR(found.xi, expected.xi, 1e-5 * expected.xi);
    EXPECT_EQ(found.lower, expected.lower);
    EXPECT_NEAR(found.model_lower, expected.model_lower, 1e-5 * static_cast<double>(n));
    EXPECT_NEAR(found.model_upper, expected.model_upper, 1e-5 * static_cast<double>(n));
    EXPECT_NEAR(found.upper_paper, expected.upper_paper, 1e-5 * static_cast<double>(n));
    EXPECT_FALSE(found.close);
  }
  // xi_1 = a_2 exactly: as close to r as can be.
  std::vector<float> weight(2 + kPrefixLanes, 0.0f);
  weight[0] = 0.5f;
  weight[1] = 0.25f;
  EXPECT_TRUE(bound_members(std::span(weight).first(2),
                            {.mass = 0.75, .squares = 0.3125, .radius = 0.25, .largest2 = 1.0})
                  .close);
}

TEST_P(TopPrefixes, WideProducts) {
  for (const Index n : {1, 7, 16, 64, 77}) {
    const std::vector<float> x = normals(n, 3);
    const std::vector<float> noise = normals(n, 4);
    std::vector<double> y(noise.begin(), noise.end());
    double expected = 0;
    for (std::size_t i = 0; i < x.size(); ++i) expected += x[i] * y[i];
    EXPECT_NEAR(dot(x, y), expected, 1e-13 * static_cast<double>(n));
    add_scaled(x, 0.3, y);
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(y[i], noise[i] + 0.3 * x[i], 1e-15);
  }
}

}  // namespace
}  // namespace headgauge
