// The cells and the legend that all tables of heads share.
#pragma once

#include <string>
#include <string_view>

#include "cli/table_style.hpp"
#include "headgauge/cells.hpp"

namespace headgauge::cli {

// Formats a value for a table. If a search found nothing, the text is ">128", with the largest N
// searched.
std::string value_text(const Results& results, const MetricCell& cell);

// Returns one line of a legend: the title of a column and its meaning.
std::string legend_line(const Painter& paint, Style style, std::string_view title,
                        std::string_view meaning, std::size_t width);

// The same for a column of a metric, with the meaning from the catalogue.
std::string metric_legend(const Painter& paint, std::string_view title, std::string_view metric,
                          std::size_t width);

}  // namespace headgauge::cli
