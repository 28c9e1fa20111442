#include "results/outcomes.hpp"

#include <gtest/gtest.h>

#include "headgauge/cells.hpp"
#include "results/plain_array.hpp"

namespace headgauge {
namespace {

TEST(Outcomes, FollowThoseThatAreThere) {
  Results r;
  EXPECT_EQ(outcomes_of(r), Names());
  EXPECT_EQ(add_outcomes({kText}, r), 0);
  EXPECT_EQ(add_outcomes({kReplay}, r), 1);
  EXPECT_EQ(add_outcomes({"recall", "keys"}, r), 2);
  EXPECT_EQ(outcomes_of(r), (Names{"text", "replay", "recall", "keys"}));
  EXPECT_EQ(add_outcomes({}, r), 4);
  EXPECT_EQ(outcomes_of(r), (Names{"text", "replay", "recall", "keys"}));
}

TEST(Outcomes, ATaskWithTheNameOfAnotherSaysThatItIsOne) {
  Results r;
  add_outcomes({kText}, r);
  EXPECT_EQ(add_outcomes({"text", "keys", "keys"}, r), 1);
  EXPECT_EQ(outcomes_of(r), (Names{"text", "text (task)", "keys", "keys (task)"}));
  add_outcomes({"text"}, r);
  EXPECT_EQ(outcomes_of(r).back(), "text (task) (task)");
}

TEST(Outcomes, MetricsKeepTheirCells) {
  Results r;
  r.set_coord("pattern", Names{"original", "window"});
  r.set_coord("length", Numbers{8, 16});
  add_outcomes({kText, "keys"}, r);
  LabelledArray& loss = r.add_metric("loss", {"pattern", kOutcome, "length"}, "nats");
  loss.with_standard_errors().with_intervals().with_p().with_rows();
  loss.none = -1;
  loss.change_of = "other";
  double number = 0;
  const auto next = [&] { return number += 0.5; };
  loss.each([&](std::span<const Index> cell, std::size_t) {
    loss.set(cell, {.value = next(),
                    .standard_error = next(),
                    .rows = 7,
                    .degrees_of_freedom = next(),
                    .low = next(),
                    .high = next(),
                    .p = next()});
  });
  r.add_metric("kl", {"pattern", "length"}, "nats").values = {1, 2, 3, 4};
  const LabelledArray before = loss;

  EXPECT_EQ(add_outcomes({"recall"}, r), 2);
  ASSERT_EQ(r.metrics.size(), 2u);
  EXPECT_EQ(r.metrics[0].first, "loss");
  EXPECT_EQ(r.metric("kl")->values, (Numbers{1, 2, 3, 4}));
  const LabelledArray& after = r.require_metric("loss");
  EXPECT_EQ(&after, &loss) << "who holds the metric still does";
  EXPECT_EQ(after.dim_names(), before.dim_names());
  EXPECT_EQ(after.dim(kOutcome), r.require_coord(kOutcome));
  EXPECT_EQ(after.unit + after.change_of, "natsother");
  EXPECT_EQ(after.none, -1);
  before.each([&](std::span<const Index> cell, std::size_t) {
    expect_cell(after.at(cell), before.at(cell));
  });
  for (const Index pattern : {0, 1}) {
    for (const Index length : {0, 1}) expect_cell(after.at({pattern, 2, length}), Estimate{});
  }
  EXPECT_EQ(after.p.size(), after.values.size()) << "the new cells have every part, too";
}

}  // namespace
}  // namespace headgauge
