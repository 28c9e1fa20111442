// A pattern that says which first and last keys it keeps keeps these and no others.
#include <gtest/gtest.h>

#include "headgauge/heads.hpp"
#include "headgauge/patterns.hpp"

namespace headgauge {
namespace {

TEST(FirstAndLast, AreTheKeysThatThePatternKeeps) {
  constexpr Index kKeys = 40;
  const Matrix<float> rows(kKeys, 4);
  HeadInput head;
  head.queries = head.keys = rows.view();
  head.visibility = Visibility::causal();
  int saying = 0;
  for (const char* spec : {"sinks:sinks=3,window=5", "window:size=7", "window:size=6,global=2",
                           "sinks:sinks=0,window=1", "bigbird", "topk"}) {
    const auto pattern = make_pattern(spec);
    const auto kept = pattern->first_and_last();
    if (!kept) continue;
    ++saying;
    const auto mask = pattern->mask(head);
    for (Index query = 0; query < kKeys; ++query) {
      std::vector<std::uint32_t> expected, found;
      for (Index key = 0; key <= query; ++key) {
        if (key < kept->first || key > query - kept->last) {
          expected.push_back(static_cast<std::uint32_t>(key));
        }
      }
      mask->select(query, {0, query + 1}, {}, found);
      EXPECT_EQ(found, expected) << spec << ", query " << query;
    }
  }
  EXPECT_EQ(saying, 4) << "patterns of first and last keys";
}

}  // namespace
}  // namespace headgauge
