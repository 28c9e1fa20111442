// Python files that exports write, embedded in the library.
#pragma once

#include <string>

namespace headgauge {

std::string modeling_text();  // modeling_headgauge.py with _held_heads.py, for transformers

}  // namespace headgauge
