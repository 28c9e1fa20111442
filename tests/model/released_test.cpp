// Memory of a checkpoint's file while a model runs.
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "headgauge/headgauge.hpp"
#include "small_models.hpp"

namespace headgauge {
namespace {

// Returns the KiB of the demo model's weights that are in memory.
std::size_t resident() {
  std::ifstream maps("/proc/self/smaps");
  std::string line;
  while (std::getline(maps, line) && !line.ends_with("demo/model/model.safetensors")) continue;
  while (std::getline(maps, line) && !line.starts_with("Rss:")) continue;
  return line.starts_with("Rss:") ? std::stoul(line.substr(4)) : 0;
}

TEST(Released, WeightsLeaveMemoryOnceTheyAreRead) {
  std::vector<Document> documents;
  documents.push_back(make_document(testing::made_ids(40, 0, 280), "ids"));
  const auto source = testing::open_model(std::move(documents), {.threads = 2}, "demo/model");
  for (int layer = 0; layer < source->info().layers; ++layer) {
    source->layer(layer, 0);
    EXPECT_LE(resident(), 256u) << layer;
  }
  source->next_tokens(0);
  EXPECT_LE(resident(), 256u);
}

}  // namespace
}  // namespace headgauge
