// Prints to standard output and throws ResourceError if that fails (full disk, closed file).
#pragma once

#include <fmt/format.h>

#include <nlohmann/json_fwd.hpp>
#include <string_view>
#include <utility>

namespace headgauge::cli {

void print_text(std::string_view text);
template <class... Args>
void print(fmt::format_string<Args...> format, Args&&... args) {
  print_text(fmt::format(format, std::forward<Args>(args)...));
}
// Prints the fields that say something, one per line; those of a field that is an object, too.
void print_fields(const nlohmann::ordered_json& fields);
// Flushes everything printed so far.
void flush_text();

// Prints to stderr; ignores failures, which cannot be reported anywhere.
void tell(std::string_view text);

}  // namespace headgauge::cli
