// The bounds of the expected distance against the enumeration of all sets.
#include <gtest/gtest.h>

#include <bit>

#include "headgauge/patterns.hpp"
#include "measures/made_heads.hpp"

namespace headgauge {
namespace {

using oracle::operator*;
using oracle::operator+;
using oracle::operator-;

// E of T1.2 by going through all sets of `size` keys.
double enumerated(const oracle::Row& row, int size) {
  const auto n = row.a.size();
  double sum = 0;
  int sets = 0;
  for (unsigned set = 0; set < 1u << n; ++set) {
    if (std::popcount(set) != size) continue;
    oracle::Vector s(row.x[0].size(), 0.0);
    for (std::size_t i = 0; i < n; ++i) {
      if (set >> i & 1) s = s + row.a[i] * row.x[i];
    }
    for (std::size_t i = 0; i < n; ++i) {
      if (!(set >> i & 1)) sum += oracle::norm(row.a[i] * row.x[i] - s);
    }
    ++sets;
  }
  return sum / sets;
}

TEST(Expected, BetweenItsBounds) {
  MeasureOptions options;
  options.top_n = {1, 2, 3, 5, 8};
  options.critical_max = 2;
  SelectionDriver driver(options, {true, false, false});
  int cells = 0;
  HeadInput bare;
  const auto sinks = make_pattern("sinks:sinks=3,window=6")->mask(bare);
  for (const std::uint64_t seed : {1, 2, 3, 4, 5}) {
    HeadKind kind;
    kind.length = seed == 5 ? 20 : 10;  // with a mask that leaves nine keys
    if (seed == 5) kind.visibility = kind.visibility.masked(sinks);
    kind.dimension = seed % 2 == 0 ? 2 : 16;
    kind.sharpness = static_cast<double>(seed);
    kind.uneven = 0.5;
    kind.seed = seed;
    const MadeHead head = make_head(kind);
    const RowValues values = driver.run(head);
    for (Index q = 1; q < head.length(); ++q) {
      const oracle::Row row = oracle_row(head, q);
      for (std::size_t place = 0; place < options.top_n.size(); ++place) {
        const int size = options.top_n[place];
        if (size >= static_cast<int>(row.a.size())) continue;
        const auto at = [&](const char* metric) {
          return values.find(metric)->second(q, static_cast<Index>(place));
        };
        const double exact = enumerated(row, size);
        EXPECT_LE(at("expected_distance"), exact * (1.0 + 1e-5));
        EXPECT_GE(at("expected_distance_upper"), exact * (1.0 - 1e-5));
        ++cells;
      }
    }
  }
  EXPECT_GT(cells, 100);
}

}  // namespace
}  // namespace headgauge
