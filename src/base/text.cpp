#include "headgauge/text.hpp"

#include <fmt/format.h>

#include <cctype>
#include <cstdint>

#include "base/utf8.hpp"

namespace headgauge {
namespace {

// Decodes a well-formed sequence.
std::uint32_t character(std::string_view sequence) {
  const auto first = static_cast<unsigned char>(sequence[0]);
  if (sequence.size() == 1) return first;
  std::uint32_t code = first & (0x7Fu >> sequence.size());
  for (const char c : sequence.substr(1)) code = code << 6 | (static_cast<unsigned char>(c) & 0x3F);
  return code;
}

// Control characters, line separators, direction marks, and invisible characters: unusual spaces,
// soft hyphens, joiners and byte order marks.
bool acts(std::uint32_t code) {
  const auto from_to = [&](std::uint32_t first, std::uint32_t last) {
    return code >= first && code <= last;
  };
  return code < 0x20 || from_to(0x7F, 0xA0) || code == 0xAD || code == 0x61C ||
         from_to(0x200B, 0x200F) || from_to(0x2028, 0x202E) || from_to(0x2060, 0x2069) ||
         code == 0xFEFF;
}

// Appends the first character of `text` and returns its number of bytes.
std::size_t append_legible(std::string& out, std::string_view text) {
  const std::size_t length = utf8_length(text);
  const std::uint32_t code =
      length == 0 ? static_cast<unsigned char>(text[0]) : character(text.substr(0, length));
  if (length > 0 && !acts(code)) {
    out += text.substr(0, length);
    return length;
  }
  out += code < 0x100 ? fmt::format("\\x{:02x}", code) : fmt::format("\\u{:04x}", code);
  return length == 0 ? 1 : length;
}

}  // namespace

std::string legible(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) text.remove_prefix(append_legible(out, text));
  return out;
}

std::string in_markdown(std::string_view text) {
  const auto is = [](int kind(int), char c) { return kind(static_cast<unsigned char>(c)) != 0; };
  const std::string shown = legible(text);
  std::string out;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    // A mark within a name or a number has no effect.
    const auto within = [&](int kind(int)) {
      return i > 0 && i + 1 < shown.size() && is(kind, shown[i - 1]) && is(kind, shown[i + 1]);
    };
    const char c = shown[i];
    const bool bare =
        c == '-' || (c == '_' && within(std::isalnum)) || (c == '.' && within(std::isdigit));
    if (is(std::ispunct, c) && !bare) out += '\\';
    out += c;
  }
  return out;
}

std::string in_quotes(std::string_view text, std::size_t most) {
  std::string out = "\"";
  while (!text.empty() && out.size() <= most) text.remove_prefix(append_legible(out, text));
  return out + (text.empty() ? "\"" : "...\"");
}

}  // namespace headgauge
