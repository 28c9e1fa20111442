// What is said of the files in the folder of --out.
#pragma once

#include <string>
#include <vector>

#include "headgauge/results.hpp"
#include "headgauge/results_folder.hpp"

namespace headgauge::cli {

// "Written: DIR/results.json, DIR/heads.csv", and further files.
std::string written_line(const Results& results, const std::string& folder,
                         const std::vector<std::string>& further = {});

}  // namespace headgauge::cli
