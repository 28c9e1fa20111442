#include "scan/measured_rows.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

namespace headgauge {
namespace {

std::vector<Index> all_queries(const DocumentRows& document) {
  std::vector<Index> queries;
  for (const Tile& tile : document.tiles) {
    queries.insert(queries.end(), tile.queries.begin(), tile.queries.end());
  }
  return queries;
}

MeasuredRows plan_of(const std::vector<int>& lengths, const std::vector<Index>& documents,
                     int queries = 0, std::uint64_t seed = 0) {
  return {lengths, documents, queries, seed};
}

TEST(MeasuredRows, EdgesAreTheLengthsAndThePowersOfTwo) {
  const MeasuredRows plan = plan_of({32, 100, 300}, {300});
  const std::vector<int> expected = {1, 2, 4, 8, 16, 32, 64, 100, 128, 256, 300};
  EXPECT_EQ(plan.edges(), expected);
  EXPECT_EQ(plan.bins_of_length(0), 6);
  EXPECT_EQ(plan.bins_of_length(1), 8);
  EXPECT_EQ(plan.bins_of_length(2), 11);
}

TEST(MeasuredRows, EveryRowOnceAndEverySegmentInOneBlockAndBin) {
  const MeasuredRows plan = plan_of({32, 100, 300}, {300, 150, 20});
  ASSERT_EQ(plan.used_lengths().size(), 3u);
  EXPECT_EQ(plan.document(0)->length, 300);
  EXPECT_EQ(plan.document(1)->length, 100);  // the longest length that fits
  EXPECT_EQ(plan.document(2)->length, 0);
  for (Index number = 0; number < 3; ++number) {
    const DocumentRows& document = *plan.document(number);
    std::vector<Index> expected(document.length);
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(all_queries(document), expected);
    Index segments = 0;
    for (const Tile& tile : document.tiles) {
      EXPECT_EQ(tile.first_segment, segments);
      segments += std::ssize(tile.segments);
      Index covered = 0;
      for (const Segment& segment : tile.segments) {
        EXPECT_EQ(segment.first, covered);
        covered += segment.rows;
        for (Index r = segment.first; r < covered; ++r) {
          const Index query = tile.queries[r];
          EXPECT_EQ(query / kBlockRows, segment.block);
          EXPECT_LT(query, plan.edges()[segment.bin]);
          if (segment.bin > 0) {
            EXPECT_GE(query, plan.edges()[segment.bin - 1]);
          }
          EXPECT_EQ(tile.weights[r], 1.0);
        }
      }
      EXPECT_EQ(covered, std::ssize(tile.queries));
      EXPECT_LE(covered, kBlockRows);
    }
    EXPECT_EQ(segments, document.segments);
  }
}

TEST(MeasuredRows, SampledRowsStandForTheirBin) {
  const MeasuredRows plan = plan_of({64, 1000}, {1000}, 10, 3);
  std::vector<double> weight(plan.edges().size(), 0.0);
  std::vector<int> rows(plan.edges().size(), 0);
  std::set<Index> seen;
  const auto drawn = plan.document(0);
  for (const Tile& tile : drawn->tiles) {
    for (const Segment& segment : tile.segments) {
      for (Index r = segment.first; r < segment.first + segment.rows; ++r) {
        weight[segment.bin] += tile.weights[r];
        ++rows[segment.bin];
        EXPECT_TRUE(seen.insert(tile.queries[r]).second);
      }
    }
  }
  for (std::size_t b = 0; b < weight.size(); ++b) {
    const int size = plan.edges()[b] - (b > 0 ? plan.edges()[b - 1] : 0);
    EXPECT_NEAR(weight[b], size, 1e-9);
    EXPECT_EQ(rows[b], std::min(size, 10));
  }
  const MeasuredRows again = plan_of({64, 1000}, {1000}, 10, 3);
  EXPECT_EQ(all_queries(*plan.document(0)), all_queries(*again.document(0)));
  const MeasuredRows other = plan_of({64, 1000}, {1000}, 10, 4);
  EXPECT_NE(all_queries(*plan.document(0)), all_queries(*other.document(0)));
}

TEST(MeasuredRows, DocumentsOfOneLengthShareTheirPlanWhereAllRowsAreMeasured) {
  const MeasuredRows plan = plan_of({64, 1000}, {1000, 70, 1200, 64});
  EXPECT_EQ(plan.document(0), plan.document(2));
  EXPECT_EQ(plan.document(1), plan.document(3));
  EXPECT_NE(plan.document(0), plan.document(1));
  EXPECT_EQ(plan.one_of_each_length(), (std::vector<Index>{1, 0}));
}

TEST(MeasuredRows, RowsThatAreDrawnAreThoseOfTheDocumentInWhateverOrderItIsAskedFor) {
  const std::vector<int> lengths = {64, 1000};
  const std::vector<Index> documents = {1000, 64, 1000, 1000};
  const MeasuredRows plan(lengths, documents, 10, 3), backwards(lengths, documents, 10, 3);
  std::vector<std::vector<Index>> rows(4);
  for (const Index d : {0, 1, 2, 3}) rows[d] = all_queries(*plan.document(d));
  for (const Index d : {3, 1, 0, 2, 0}) {
    EXPECT_EQ(all_queries(*backwards.document(d)), rows[d]) << d;
  }
  EXPECT_NE(rows[0], rows[2]);
  const auto held = plan.document(0);
  EXPECT_NE(plan.document(3), held);
  EXPECT_EQ(all_queries(*held), rows[0]) << "what is held stays as it is";
}

}  // namespace
}  // namespace headgauge
