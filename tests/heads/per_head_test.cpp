// Values and interventions of all heads of a model.
#include <gtest/gtest.h>

#include "headgauge/headgauge.hpp"

namespace headgauge {
namespace {

TEST(PerHead, HasAValueForEachHead) {
  PerHead<int> heads(2, 3, 7);
  EXPECT_EQ(heads.layers(), 2);
  EXPECT_EQ(heads.heads(), 3);
  heads.each([](int layer, int head, int& value) {
    EXPECT_EQ(value, 7);
    value = 10 * layer + head;
  });
  EXPECT_EQ(heads(0, 2), 2);
  EXPECT_EQ(heads(1, 0), 10);
  EXPECT_EQ(std::vector<int>(heads.begin(), heads.end()), (std::vector<int>{0, 1, 2, 10, 11, 12}));
  EXPECT_TRUE(PerHead<int>().empty());
  EXPECT_FALSE(heads.empty());
}

TEST(HeadInterventions, TellTheFirstLayerThatChanges) {
  HeadInterventions interventions(3, 2);
  EXPECT_EQ(first_changed_layer(interventions), 3);
  EXPECT_EQ(first_changed_layer({}), 0);
  interventions(2, 0).normalizer = make_normalizer("sparsemax");
  EXPECT_EQ(first_changed_layer(interventions), 2);
  interventions(1, 1).pattern = make_pattern("window");
  EXPECT_EQ(first_changed_layer(interventions), 1);
}

TEST(HeadInterventions, AreThoseOfAllHeadsOrNone) {
  SourceInfo source;
  source.layers = 3;
  source.heads = 2;
  EXPECT_NO_THROW(require_all_heads(HeadInterventions(3, 2), source));
  EXPECT_NO_THROW(require_all_heads({}, source));
  EXPECT_THROW(require_all_heads(HeadInterventions(2, 2), source), UsageError);
  // As many, but of another model.
  EXPECT_THROW(require_all_heads(HeadInterventions(2, 3), source), UsageError);
}

}  // namespace
}  // namespace headgauge
