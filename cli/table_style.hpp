// Text that may be coloured and is aligned by what is seen of it.
#pragma once

#include <string>
#include <string_view>

namespace headgauge::cli {

enum class Style { plain, bold, faint, warning };

class Painter {
 public:
  explicit Painter(bool color) : color_(color) {}
  std::string operator()(Style style, std::string_view text) const;
  // Padded first, so that the codes do not count.
  std::string left(Style style, std::string_view text, std::size_t width) const;
  std::string right(Style style, std::string_view text, std::size_t width) const;

 private:
  bool color_;
};

// The number of characters of UTF-8 text.
std::size_t text_width(std::string_view text);
// At most `width` characters of legible(text), the last an ellipsis if something was cut.
std::string shortened(std::string_view text, std::size_t width);
inline constexpr std::size_t kGap = 2;           // between columns
inline constexpr std::size_t kTableWidth = 100;  // at most, on any terminal

// Text that begins in column `indent`, wrapped so that its further lines do too.
std::string hanging(std::string_view text, std::size_t width, std::size_t indent);
// Text broken between words into lines of at most `width` characters where that is possible; all
// but the first are indented.
std::string wrapped(std::string_view text, std::size_t width, std::size_t indent);

}  // namespace headgauge::cli
