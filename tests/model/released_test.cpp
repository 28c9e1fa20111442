// Memory of a checkpoint's file while a model runs.
#include <gtest/gtest.h>

#include "headgauge/headgauge.hpp"
#include "small_models.hpp"

namespace headgauge {
namespace {

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
