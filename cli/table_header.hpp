// What stands above the table: what was measured, on what, how, and the loss at every length.
#pragma once

#include <string>

#include "cli/table_style.hpp"
#include "headgauge/results.hpp"

namespace headgauge::cli {

std::string render_header(const Results& results, const Painter& paint);

}  // namespace headgauge::cli
