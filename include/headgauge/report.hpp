// Results to look at: one web page that opens offline, and figures as SVG files.
#pragma once

#include <string>
#include <vector>

#include "headgauge/results.hpp"

namespace headgauge {

// Whether this build can do what follows (HEADGAUGE_REPORT, on by default); where it cannot, all of
// it throws UnsupportedError.
bool has_report();

// One HTML file with the results in it, that asks nothing of the network. Large results are
// compressed inside. Written under its name only when complete; ResourceError if it cannot be.
void write_report(const Results& results, const std::string& path);

// A figure as a file of its own.
struct Drawing {
  std::string name;  // for a file name, without an ending: "critical-n"
  std::string title;
  std::string svg;
};

// The standard figures of results: those that need no choice of a head. Drawn by the code of the
// page, in a JavaScript engine inside the library that sees neither files nor the network; same
// results, same bytes.
std::vector<Drawing> draw_figures(const Results& results);

// draw_figures() as NAME.svg in a folder that exists; returns the paths. ResourceError if one
// cannot be written.
std::vector<std::string> write_figures(const Results& results, const std::string& folder);

}  // namespace headgauge
