#include "cli/print.hpp"

#include <fmt/ranges.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/table_style.hpp"
#include "headgauge/base.hpp"
#include "headgauge/text.hpp"

namespace headgauge::cli {
namespace {

[[noreturn]] void fail() {
  throw ResourceError(fault("standard output", "a writable output", std::strerror(errno),
                            "free some space or write elsewhere"));
}

std::string words_of(const nlohmann::ordered_json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (!value.is_array()) return value.is_null() ? "" : value.dump();
  std::vector<std::string> parts;
  for (const auto& part : value) parts.push_back(words_of(part));
  return fmt::format("{}", fmt::join(parts, ", "));
}

void print_field(const std::string& name, const std::string& words) {
  constexpr std::size_t kIndent = 16;
  print_text(Painter(false).entry(Style::plain, name, legible(words), kTableWidth, kIndent));
}

}  // namespace

void print_fields(const nlohmann::ordered_json& fields) {
  for (const auto& [name, value] : fields.items()) {
    if (!value.is_object()) {
      print_field(name, words_of(value));
      continue;
    }
    for (const auto& [part, own] : value.items()) print_field(name, part + " " + words_of(own));
  }
}

void print_text(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) fail();
}

void flush_text() {
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) fail();
}

void tell(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace headgauge::cli
