// Renders the lines above a table: model, text, settings, and the loss at every length.
#pragma once

#include <string>

#include "cli/table_style.hpp"
#include "headgauge/results.hpp"

namespace headgauge::cli {

// Wraps the lines to `width` columns where words permit.
std::string render_header(const Results& results, const Painter& paint, std::size_t width);

}  // namespace headgauge::cli
