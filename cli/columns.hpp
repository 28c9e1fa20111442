// The cells and the legend that all tables of heads share.
#pragma once

#include <string>
#include <string_view>

#include "cli/text_table.hpp"
#include "headgauge/catalogue.hpp"
#include "headgauge/cells.hpp"

namespace headgauge::cli {

// Returns the column of a metric, with its meaning from the catalogue (a user's own has none
// there).
TextColumn metric_column(const Column& column);

// Formats a value for a table. If a search found nothing, the text is ">128", with the largest N
// searched.
std::string value_text(const Results& results, const MetricCell& cell);

// Returns one line of a legend: the title of a column and its meaning; empty without a meaning.
std::string legend_line(const Painter& paint, Style style, std::string_view title,
                        std::string_view meaning, std::size_t width);

}  // namespace headgauge::cli
