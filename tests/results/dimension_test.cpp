#include "headgauge/array.hpp"

#include <gtest/gtest.h>

#include "faults.hpp"

namespace headgauge {
namespace {

using Numbers = std::vector<double>;
using Names = std::vector<std::string>;

TEST(DimensionLabels, AreNumbersOrNames) {
  const Dimension lengths("length", Numbers{32, 0.1, 1e6});
  EXPECT_EQ(lengths.label(0), "32");
  EXPECT_EQ(lengths.label(1), "0.1");
  EXPECT_EQ(lengths.label(2), "1e+06");
  EXPECT_EQ(lengths.find(0.1 + 1e-12), 1);
  EXPECT_EQ(lengths.find(0.2), std::nullopt);
  EXPECT_EQ(lengths.find("32"), std::nullopt);
  EXPECT_EQ(thrown<UsageError>([&] { lengths.names(); }),
            "results: expected names in the coordinate \"length\", found numbers");
  const Dimension normalizers("normalizer", Names{"original", "ssmax"});
  EXPECT_EQ(normalizers.label(1), "ssmax");
  EXPECT_EQ(normalizers.find("ssmax"), 1);
  EXPECT_EQ(normalizers.find("ss"), std::nullopt);
  EXPECT_EQ(normalizers.find(0.0), std::nullopt);
  EXPECT_EQ(thrown<UsageError>([&] { normalizers.numbers(); }),
            "results: expected numbers in the coordinate \"normalizer\", found names");
  EXPECT_EQ(normalizers, Dimension("normalizer", Names{"original", "ssmax"}));
  EXPECT_NE(normalizers, normalizers.renamed("other"));
  EXPECT_NE(normalizers, normalizers.take(std::vector<Index>{1, 0}));
}

TEST(DimensionLabels, AreWrittenInFewWords) {
  EXPECT_EQ(labels_text(Numbers{0, 1, 2, 3, 4, 5, 7}), "0-5, 7");
  EXPECT_EQ(labels_text(Numbers{1, 2, 5}), "1, 2, 5");
  EXPECT_EQ(labels_text(Numbers{2, 4, 8, 16, 32, 64, 128, 256}), "2, 4, 8, 16, 32, 64 and 2 more");
  EXPECT_EQ(labels_text(Numbers{2, 4, 8, 16, 32, 64, 128}), "2, 4, 8, 16, 32, 64, 128");
  EXPECT_EQ(labels_text(Names{"a", "b"}), "a, b");
  EXPECT_EQ(labels_text(Numbers{}), "none");
}

}  // namespace
}  // namespace headgauge
