// Python files that exports write, embedded in the library.
#pragma once

#include <string_view>

namespace headgauge {

std::string_view press_text();     // headgauge_press.py, for kvpress
std::string_view modeling_text();  // modeling_headgauge.py, for transformers

}  // namespace headgauge
