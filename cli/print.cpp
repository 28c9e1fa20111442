#include "cli/print.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "headgauge/base.hpp"

namespace headgauge::cli {
namespace {

[[noreturn]] void fail() {
  throw ResourceError(fault("standard output", "a writable output", std::strerror(errno),
                            "free some space or write elsewhere"));
}

}  // namespace

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
