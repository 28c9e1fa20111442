// Renders the lines above a table: model, text, settings, and the loss at every length.
#pragma once

#include <string>
#include <vector>

#include "cli/table_style.hpp"
#include "headgauge/results.hpp"

namespace headgauge::cli {

// Describes the windows of layers; all layers with a window have the same one. Example: "15 of 18
// layers see 512 tokens".
std::string windows_text(const std::vector<Index>& windows);

// Returns "*" for a layer without a window of a model whose other layers have one.
std::string open_mark(const Results& results, Index layer_index);
// Returns what the mark says; empty if no layer has one.
std::string open_legend(const Results& results);

// Says in three lines what was measured: the model; the text with its loss and the time; the bytes
// of the key-value cache. A line of which nothing is known is left out.
std::string render_head(const Results& results, std::size_t width);

// Wraps the lines to `width` columns where words permit.
std::string render_header(const Results& results, const Painter& paint, std::size_t width);

}  // namespace headgauge::cli
