// Reads and describes the runs that a diff or a series compares.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "headgauge/results.hpp"

namespace headgauge::cli {

// Reads the results at a path: one, or several in the folders of a folder. Replaces the path by the
// name that messages give them.
std::vector<Results> read_runs(std::string& path);

// Describes one of the runs in the settings: "a/results.json: scan of gpt2 on book.txt".
std::string run_text(const nlohmann::ordered_json& run);

// Shows the settings in which the runs differ: "normalizer: softmax -> ssmax; seed: 0 -> 1".
std::string settings_text(const std::vector<nlohmann::ordered_json>& runs);

}  // namespace headgauge::cli
