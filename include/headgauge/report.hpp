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

inline constexpr const char* kReportFile = "report.html";
inline constexpr const char* kFiguresFolder = "figures";

// Drawings as NAME.svg in a folder that exists; returns the paths. ResourceError if one cannot be
// written.
std::vector<std::string> write_drawings(const std::vector<Drawing>& drawings,
                                        const std::string& folder);
// The same for draw_figures().
std::vector<std::string> write_figures(const Results& results, const std::string& folder);

// Removes report.html and the figures that write_report() and write_figures() left in a folder of
// results. Files that headgauge did not write stay, and so does everything behind a link.
void remove_drawings(const std::string& folder);

}  // namespace headgauge
