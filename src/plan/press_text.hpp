// The source of the kvpress press, headgauge_press.py, embedded in the library.
#pragma once

#include <string_view>

namespace headgauge {

std::string_view press_text();

}  // namespace headgauge
