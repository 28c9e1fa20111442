// Reports the files written to the folder of --out.
#pragma once

#include <string>
#include <vector>

#include "headgauge/results.hpp"
#include "headgauge/results_folder.hpp"

namespace headgauge::cli {

// Example: "Written: DIR/results.json, DIR/heads.csv", followed by further files.
std::string written_line(const Results& results, const std::string& folder,
                         const std::vector<std::string>& further = {});

}  // namespace headgauge::cli
