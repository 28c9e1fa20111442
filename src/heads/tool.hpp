// Describes the program that made a results file.
#pragma once

#include <nlohmann/json.hpp>

namespace headgauge {

// Returns Results::tool: name, version, SIMD level, threads.
nlohmann::ordered_json describe_tool(int threads);

}  // namespace headgauge
