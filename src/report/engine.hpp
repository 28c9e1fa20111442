// The figures' script, run where there is no browser.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace headgauge::report {

// What headgauge_figures.draw(data, load) of the script returns. `load` gives the text behind a
// name; the script gets undefined for an empty one. Throws std::runtime_error with the script's own
// message if it fails.
std::string run_figures(std::string_view script, std::string_view data,
                        const std::function<std::string(std::string_view)>& load);

}  // namespace headgauge::report
