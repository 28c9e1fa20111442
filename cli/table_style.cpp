#include "cli/table_style.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "headgauge/text.hpp"

namespace headgauge::cli {
namespace {

bool continues(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

}  // namespace

std::string Painter::operator()(Style style, std::string_view text) const {
  if (!color_ || style == Style::plain || text.empty()) return std::string(text);
  constexpr int codes[] = {0, 1, 2, 33, 32, 36, 35, 34};  // in the order of the styles
  return fmt::format("\x1b[{}m{}\x1b[0m", codes[static_cast<int>(style)], text);
}

std::string Painter::entry(Style style, std::string_view label, std::string_view text,
                           std::size_t width, std::size_t indent, Style text_style) const {
  if (text.empty()) return "";
  const std::size_t seen = text_width(label);
  // A label that reaches the text stands on a line of its own.
  const std::string gap =
      seen < indent ? std::string(indent - seen, ' ') : "\n" + std::string(indent, ' ');
  return (*this)(style, label) + gap + (*this)(text_style, hanging(text, width, indent)) + "\n";
}

std::size_t text_width(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !continues(c); }));
}

std::string shortened(std::string_view text, std::size_t width) {
  std::string clean = legible(text);
  if (text_width(clean) <= width) return clean;
  std::size_t seen = 0, end = 0;
  while (end < clean.size() && (continues(clean[end]) || ++seen < width)) ++end;
  return clean.substr(0, end) + "\u2026";
}

std::string hanging(std::string_view text, std::size_t width, std::size_t indent) {
  const std::string narrow = wrapped(text, width > indent ? width - indent : 1, 0);
  std::string out;
  for (const char c : narrow) {
    out += c;
    if (c == '\n') out.append(indent, ' ');
  }
  return out;
}

std::string wrapped(std::string_view text, std::size_t width, std::size_t indent) {
  std::string out;
  std::size_t used = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t wide = text_width(word);
    if (out.empty()) {
      used = wide;
    } else if (used + 1 + wide <= width) {
      out += ' ';
      used += 1 + wide;
    } else {
      out += '\n';
      out.append(indent, ' ');
      used = indent + wide;
    }
    out += word;
  }
  return out;
}

}  // namespace headgauge::cli
