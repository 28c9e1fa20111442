#include "cli/print.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "cli/host.hpp"
#include "headgauge/base.hpp"

namespace headgauge::cli {
namespace {

[[noreturn]] void fail() {
  throw ResourceError(fault("standard output", "a place that can be written", std::strerror(errno),
                            "free some space or write elsewhere"));
}

}  // namespace

void print_text(std::string_view text) {
  if (Host* const program = host()) {
    program->printed += text;
    return;
  }
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) fail();
}

void flush_text() {
  if (host() != nullptr) return;
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) fail();
}

void tell(std::string_view text) {
  if (host() != nullptr) return;  // what is worth telling is in the results
  std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace headgauge::cli
