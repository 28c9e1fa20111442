// Renders the lines above a table: model, text, settings, and the loss at every length.
#pragma once

#include <string>

#include "cli/table_style.hpp"
#include "headgauge/results.hpp"

namespace headgauge::cli {

// Lines of at most `width` columns, where their words allow.
std::string render_header(const Results& results, const Painter& paint, std::size_t width);

}  // namespace headgauge::cli
