// Hidden states that wait on the disk, and states that a pass begins from.
#include <gtest/gtest.h>

#include <algorithm>

#include "headgauge/headgauge.hpp"
#include "small_models.hpp"

namespace headgauge {
namespace {

std::unique_ptr<ModelSource> open(std::size_t stream_bytes) {
  std::vector<Document> documents;
  for (const int length : {40, 90, 17}) {
    documents.push_back(make_document(testing::made_ids(length, 0, 7 * length), "ids"));
  }
  return testing::open_model(std::move(documents), {.threads = 1, .stream_bytes = stream_bytes},
                             "demo/model");
}

TEST(HiddenStates, ThatWaitOnTheDiskHaveTheSameBits) {
  ScanOptions options;
  options.lengths = {16, 32};
  options.threads = 1;
  CompareOptions compared;
  compared.scan = options;
  compared.normalizers = {"ssmax", "sparsemax"};
  const auto measure = [&](std::size_t stream_bytes) {
    const auto source = open(stream_bytes);
    std::vector<Results> all;
    all.push_back(scan(*source, options));
    const auto again = open(stream_bytes);
    all.push_back(
        compare(*again, compared, make_interventions(compared, again->info()), nullptr, {}));
    return all;
  };
  EXPECT_LT(open(1)->info().bytes, open(0)->info().bytes);
  const auto held = measure(0), spilled = measure(1);
  for (std::size_t i = 0; i < held.size(); ++i) {
    EXPECT_EQ(held[i].metrics.size(), spilled[i].metrics.size());
    testing::expect_same_values(spilled[i], held[i]);
  }
}

TEST(HiddenStates, ArePutBack) {
  const auto source = open(0), other = open(0);
  const int layers = source->info().layers;
  for (int layer = 0; layer < layers; ++layer) source->layer(layer, 1);
  const std::vector<double> whole = source->next_tokens(1).losses;
  for (int begin = 1; begin <= layers; ++begin) {
    const auto before = open(0);
    for (int layer = 0; layer < begin; ++layer) before->layer(layer, 1);
    const auto state = before->state(1);
    ASSERT_EQ(state.size(), 90 * source->info().x_dim * sizeof(float)) << "L x D";
    ASSERT_TRUE(other->begin_at(begin, 1));
    ASSERT_EQ(other->state(1).size(), state.size());
    std::ranges::copy(state, other->state(1).begin());
    for (int layer = begin; layer < layers; ++layer) other->layer(layer, 1);
    EXPECT_EQ(other->next_tokens(1).losses, whole) << begin;
  }
}

// Memory of a checkpoint's file while a model runs.

using testing::resident_kib;

constexpr const char* kWeights = "demo/model/model.safetensors";

TEST(Released, WeightsLeaveMemoryOnceTheyAreRead) {
  std::vector<Document> documents;
  documents.push_back(make_document(testing::made_ids(40, 0, 280), "ids"));
  const auto source = testing::open_model(std::move(documents), {.threads = 2}, "demo/model");
  for (int layer = 0; layer < source->info().layers; ++layer) {
    source->layer(layer, 0);
    EXPECT_LE(resident_kib(kWeights), 256u) << layer;
  }
  source->next_tokens(0);
  EXPECT_LE(resident_kib(kWeights), 256u);
}

}  // namespace
}  // namespace headgauge
