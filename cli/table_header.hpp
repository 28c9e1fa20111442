// Renders the lines above a table: the model, the text and what was changed.
#pragma once

#include <string>
#include <vector>

#include "cli/table_style.hpp"
#include "headgauge/results.hpp"

namespace headgauge::cli {

// Describes the windows of layers; all layers with a window have the same one. Example: "15 of 18
// layers see 512 tokens".
std::string windows_text(const std::vector<Index>& windows);

// Says in three lines what was measured: the model; the text with its loss and the time; the bytes
// of the key-value cache. A line of which nothing is known is left out.
std::string render_head(const Results& results, std::size_t width);

}  // namespace headgauge::cli
