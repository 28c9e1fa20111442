#include "heads/tool.hpp"

#include "headgauge/kernels.hpp"

namespace headgauge {

ToolRecord describe_tool(int threads) {
  return {
      .name = "headgauge", .version = HEADGAUGE_VERSION, .simd = simd_level(), .threads = threads};
}

ModelRecord describe_model(const SourceInfo& info) {
  return {.name = info.name,
          .family = info.family,
          .layers = info.layers,
          .heads = info.heads,
          .kv_heads = info.kv_heads,
          .head_dim = info.head_dim};
}

}  // namespace headgauge
