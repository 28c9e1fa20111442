// The name of the format of results.json.
#pragma once

#include <string_view>

namespace headgauge {

inline constexpr std::string_view kResultsFormat = "headgauge.results/";
inline constexpr int kResultsMajor = 1;
inline constexpr std::string_view kResultsSchema = "headgauge.results/1";

}  // namespace headgauge
