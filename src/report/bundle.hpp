// The build products of web/, embedded in the program.
#pragma once

#include <string_view>

namespace headgauge::report {

// Empty in a build without HEADGAUGE_REPORT.
std::string_view page_template();
std::string_view figures_script();

// Throws UnsupportedError if they are empty.
void require_bundle();

}  // namespace headgauge::report
