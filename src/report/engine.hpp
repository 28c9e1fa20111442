// Runs the script of the figures without a browser.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace headgauge::report {

// Returns the result of the script's headgauge_figures.draw(data, load). `load` returns the text
// for a name; an empty text becomes undefined in the script. Throws std::runtime_error with the
// script's message if it fails.
std::string run_figures(std::string_view script, std::string_view data,
                        const std::function<std::string(std::string_view)>& load);

}  // namespace headgauge::report
