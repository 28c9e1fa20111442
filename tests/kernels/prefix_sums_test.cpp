#include "kernels/prefix_sums.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/levels.hpp"

namespace headgauge {
namespace {

class PrefixSumsTest : public EveryLevel {};
class Gather : public EveryLevel {};
HEADGAUGE_EVERY_LEVEL(PrefixSumsTest);
HEADGAUGE_EVERY_LEVEL(Gather);

std::vector<std::uint32_t> shuffled(Index n, std::uint64_t seed) {
  std::vector<std::uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0u);
  std::shuffle(order.begin(), order.end(), Generator(seed));
  return order;
}

TEST_P(PrefixSumsTest, AreThoseOfFloat64) {
  for (const Index columns : {16, 32, 48, 80, 128, 208}) {
    const Index keys = 300;
    const auto memory = normals(keys * columns, 1);
    const MatrixView<const float> vectors(memory.data(), keys, columns);
    const auto weights = normals(keys, 2);
    const auto order = shuffled(keys, 3);
    const std::vector<Index> ends = {0, 1, 7, 7, 130, 300};
    Matrix<float> sums(std::ssize(ends), columns);
    std::vector<double> masses(ends.size());
    prefix_sums(order, weights, vectors, ends, sums, masses);
    for (std::size_t p = 0; p < ends.size(); ++p) {
      double mass = 0;
      for (Index i = 0; i < ends[p]; ++i) mass += weights[order[i]];
      EXPECT_NEAR(masses[p], mass, 1e-12);
      for (Index c = 0; c < columns; ++c) {
        double sum = 0, size = 0;
        for (Index i = 0; i < ends[p]; ++i) {
          const std::uint32_t key = order[i];
          const double term = double{weights[key]} * vectors(key, c);
          sum += term;
          size += std::abs(term);
        }
        // One rounding for each key of sums no larger than the sum of the sizes.
        const double bound = static_cast<double>(ends[p] + 1) * kSingleRounding * size;
        ASSERT_NEAR(sums(static_cast<Index>(p), c), sum, bound) << columns << " " << p << " " << c;
      }
    }
  }
}

TEST_P(Gather, TakesWhatHasAFactorAndAddsItUp) {
  for (const Index size : {0, 1, 3, 8, 15, 16, 17, 33, 500}) {
    const auto row = normals(size, 4), chance = normals(size, 5);
    std::vector<float> factors, expected;
    std::vector<std::uint32_t> index;
    double sum = 0, whole = 0;
    for (std::size_t i = 0; i < row.size(); ++i) {
      factors.push_back(chance[i] > 0.5f ? std::ceil(chance[i]) : 0.0f);
      if (factors[i] != 0) {
        index.push_back(static_cast<std::uint32_t>(i));
        expected.push_back(row[i]);
      }
      sum += double{factors[i]} * row[i];
      whole += std::abs(double{factors[i]} * row[i]);
    }
    std::vector<float> out(expected.size() + kVectorColumns);
    const float found = gather(row, index, factors, std::span(out).first(expected.size()));
    out.resize(expected.size());
    EXPECT_EQ(out, expected);
    EXPECT_NEAR(found, sum, static_cast<double>(size + 1) * kSingleRounding * whole);
  }
}

}  // namespace
}  // namespace headgauge
