// Text that may be coloured and is aligned by its visible width.
#pragma once

#include <string>
#include <string_view>

namespace headgauge::cli {

enum class Style { plain, bold, faint, warning };

class Painter {
 public:
  explicit Painter(bool color) : color_(color) {}
  std::string operator()(Style style, std::string_view text) const;
  // Pads before colouring, so that escape codes do not count.
  std::string left(Style style, std::string_view text, std::size_t width) const;
  std::string right(Style style, std::string_view text, std::size_t width) const;

 private:
  bool color_;
};

// Returns the number of characters of UTF-8 text.
std::size_t text_width(std::string_view text);
// Returns at most `width` characters of legible(text); ends in an ellipsis if text was cut.
std::string shortened(std::string_view text, std::size_t width);
inline constexpr std::size_t kGap = 2;           // between columns
inline constexpr std::size_t kTableWidth = 100;  // maximum, on any terminal

// Wraps text that begins in column `indent`; further lines begin there, too.
std::string hanging(std::string_view text, std::size_t width, std::size_t indent);
// Breaks text between words into lines of at most `width` characters if possible; indents all but
// the first.
std::string wrapped(std::string_view text, std::size_t width, std::size_t indent);

}  // namespace headgauge::cli
