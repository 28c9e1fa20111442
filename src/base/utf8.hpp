// Validation of UTF-8 (Unicode 15, table 3-7).
#pragma once

#include <cstddef>
#include <string_view>

namespace headgauge {

inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// Returns the number of bytes of the well-formed sequence at the start of a text, which is not
// empty; 0 if there is none.
std::size_t utf8_length(std::string_view text);

// Returns the offset of the first byte that does not belong to a well-formed sequence, or npos if
// the text is UTF-8. A truncated sequence is reported at its first byte.
std::size_t find_invalid_utf8(std::string_view text);

// Returns the text without a byte order mark, which tells the encoding and is not part of it.
std::string_view without_mark(std::string_view text);

}  // namespace headgauge
