#include "heads/tool.hpp"

#include "headgauge/kernels.hpp"

namespace headgauge {

nlohmann::ordered_json describe_tool(int threads) {
  return {{"name", "headgauge"},
          {"version", HEADGAUGE_VERSION},
          {"simd", simd_level()},
          {"threads", threads}};
}

}  // namespace headgauge
