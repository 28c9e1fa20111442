// Validation of UTF-8 (Unicode 15, table 3-7).
#pragma once

#include <cstddef>
#include <string_view>

namespace headgauge {

// The bytes of the well-formed sequence that a text begins with; 0 if there is none. The text is
// not empty.
std::size_t utf8_length(std::string_view text);

// The offset of the first byte that does not belong to a well-formed sequence, or npos if the
// text is UTF-8. A sequence cut short is reported at its first byte.
std::size_t find_invalid_utf8(std::string_view text);

}  // namespace headgauge
