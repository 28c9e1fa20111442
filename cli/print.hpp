// Standard output that is not lost in silence: a full disk or a closed file is a ResourceError.
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace headgauge::cli {

void print_text(std::string_view text);
template <class... Args>
void print(fmt::format_string<Args...> format, Args&&... args) {
  print_text(fmt::format(format, std::forward<Args>(args)...));
}
// Hands everything printed so far to the system.
void flush_text();

// Prints on stderr; where that fails there is nobody to tell.
void tell(std::string_view text);

}  // namespace headgauge::cli
