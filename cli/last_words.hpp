// Ends the command where no exception can be thrown.
#pragma once

#include "headgauge/base.hpp"

namespace headgauge::cli {

// Writes one line to stderr, over the progress bar, and ends the process. Signal handlers and any
// thread may call it; only the first of several calls prints.
[[noreturn]] void end_at_once(ErrorKind kind, const char* message) noexcept;

// Makes two faults end the process in this way from now on: a read of bytes that a mapped file has
// lost, and an out-of-memory error in the tokenizers library. A file that exceeds the size limit of
// the process becomes an ordinary error.
void say_last_words();

}  // namespace headgauge::cli
