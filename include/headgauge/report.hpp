// Renders results: one web page that opens offline, and figures as SVG files.
#pragma once

#include <string>
#include <vector>

#include "headgauge/results_folder.hpp"

namespace headgauge {

// Returns whether this build includes the report (HEADGAUGE_REPORT, on by default). If not, all
// functions below throw UnsupportedError.
bool has_report();

// Writes one HTML file that contains the results and makes no network requests. Compresses large
// results. The file appears under its name only when complete; ResourceError if it cannot be
// written.
void write_report(const Results& results, const std::string& path);

// A figure as a separate file.
struct Drawing {
  std::string name;  // a file name without extension: "critical-n"
  std::string title;
  std::string svg;
};

enum class Theme { light, dark };

// Draws the standard figures of results: those that need no choice of a head. Uses the page's code
// in a JavaScript engine inside the library, which has no access to files or network. Equal results
// give equal bytes.
std::vector<Drawing> draw_figures(const Results& results, Theme theme = Theme::light);

// Writes drawings as NAME.svg into an existing folder and returns the paths. ResourceError if one
// cannot be written.
std::vector<std::string> write_drawings(const std::vector<Drawing>& drawings,
                                        const std::string& folder);

}  // namespace headgauge
