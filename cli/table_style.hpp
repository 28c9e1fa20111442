// Text that may be coloured and is aligned by its visible width.
#pragma once

#include <string>
#include <string_view>

namespace headgauge::cli {

enum class Style { plain, bold, faint, warning, green, cyan, magenta, blue };

class Painter {
 public:
  explicit Painter(bool color) : color_(color) {}
  std::string operator()(Style style, std::string_view text) const;
  // Returns a label and a text that goes on in column `indent`; empty if there is no text.
  std::string entry(Style style, std::string_view label, std::string_view text, std::size_t width,
                    std::size_t indent, Style text_style = Style::plain) const;

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
