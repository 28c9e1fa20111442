#include "convergence/state.hpp"

#include <gtest/gtest.h>

#include "headgauge/base.hpp"
#include "test_data.hpp"

namespace headgauge {
namespace {

using Json = nlohmann::ordered_json;
using testing::TemporaryFolder;

const Json kIdentity = {{"seed", 1}};

// One scale of two points with two replicates each, the first of them finished.
Json finished() {
  return Json::parse(R"([{"reference": {"mean_unit": 1, "covariance_unit": 2, "mean_error": 0.5,
      "covariance_error": 0.25, "method": "exact"},
      "points": [{"mean": [0.1, 0.2], "covariance": [0.3, 0.4]}]}])");
}

std::optional<SweepState> load(const std::string& path, const Json& state) {
  SavedState(path, "headgauge.synthetic-state/2", "", "", kIdentity).save(state);
  return StateFile(path, kIdentity).load(1, 2, 2);
}

TEST(StateFile, ReadsWhatItSaved) {
  const TemporaryFolder folder("sweep-saved");
  const auto state = load(folder / "s", finished());
  ASSERT_TRUE(state && state->cells[0][0] && !state->cells[0][1]);
  EXPECT_EQ(state->cells[0][0]->covariance, (std::vector<double>{0.3, 0.4}));
  EXPECT_EQ(state->references[0]->mean_error, 0.5);
  const StateFile file(folder / "t", kIdentity);
  file.save(*state);
  EXPECT_EQ(file.load(1, 2, 2)->cells, state->cells);
}

TEST(StateFile, NumbersHaveRanges) {
  const TemporaryFolder folder("sweep-ranges");
  for (const char* place : {"/0/points/0/mean/1", "/0/points/0/covariance/0",
                            "/0/reference/mean_unit", "/0/reference/covariance_error"}) {
    for (const Json& wrong : {Json(-1), Json(nullptr), Json("1"), Json::array()}) {
      Json state = finished();
      state[Json::json_pointer(place)] = wrong;
      EXPECT_THROW(load(folder / "s", state), BadInputError) << place << " " << wrong;
    }
  }
  Json state = finished();
  state[0]["points"][0]["mean"] = {0.1};
  EXPECT_THROW(load(folder / "s", state), BadInputError) << "a replicate too few";
  state = finished();
  for (int more = 0; more < 2; ++more) state[0]["points"].push_back(state[0]["points"][0]);
  EXPECT_THROW(load(folder / "s", state), BadInputError) << "a point too many";
  state = finished();
  state.push_back(state[0]);
  EXPECT_THROW(load(folder / "s", state), BadInputError) << "a scale too many";
}

}  // namespace
}  // namespace headgauge
