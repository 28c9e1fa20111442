// Reads and describes the runs that a diff or a series compares.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/table_style.hpp"
#include "headgauge/results.hpp"

namespace headgauge::cli {

// Reads the results at a path: one, or several in the folders of a folder. Replaces the path by the
// name that messages give them.
std::vector<Results> read_runs(std::string& path);

// Describes the runs of a diff or a series by their entries in the settings, a labelled line for
// each and one for the settings in which they differ: "old  a/results.json: scan of gpt2 on
// book.txt", "settings  seed: 0 -> 1"; and what a diff compared.
std::string render_runs(const Results& results, const Painter& paint, std::size_t width);

}  // namespace headgauge::cli
