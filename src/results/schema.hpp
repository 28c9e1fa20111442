// The name of the format of results.json.
#pragma once

#include <cstddef>
#include <string_view>

namespace headgauge {

inline constexpr std::string_view kResultsFormat = "headgauge.results/";
inline constexpr int kResultsMajor = 3;
inline constexpr std::string_view kResultsSchema = "headgauge.results/3";

// The maximum number of changes of each kind in a file.
inline constexpr std::size_t kMostChanges = 5000;

}  // namespace headgauge
