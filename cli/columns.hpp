// What the tables of heads have in common: the cells of their columns, and the legend.
#pragma once

#include <string>
#include <string_view>

#include "cli/table_style.hpp"
#include "headgauge/cells.hpp"

namespace headgauge::cli {

// A value as the tables show it: where none was found ">128", up to which N was searched.
std::string value_text(const Results& results, const MetricCell& cell);

// A line of a legend: the title of a column, and what is said of it.
std::string legend_line(const Painter& paint, Style style, std::string_view title,
                        std::string_view meaning, std::size_t width);

// The same of a column of a metric: what the catalogue says of it.
std::string metric_legend(const Painter& paint, std::string_view title, std::string_view metric,
                          std::size_t width);

}  // namespace headgauge::cli
