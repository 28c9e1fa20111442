// What was built from web/, as it is in the program.
#pragma once

#include <string_view>

namespace headgauge::report {

// Empty in a build without HEADGAUGE_REPORT.
std::string_view page_template();
std::string_view figures_script();

// Throws UnsupportedError where they are.
void require_bundle();

}  // namespace headgauge::report
