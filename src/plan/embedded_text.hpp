// Python files that exports write, embedded in the library.
#pragma once

#include <string>
#include <string_view>

namespace headgauge {

std::string_view press_text();  // headgauge_press.py, for kvpress
std::string modeling_text();    // modeling_headgauge.py with _held_heads.py, for transformers

}  // namespace headgauge
