// How the command ends where no exception can end it.
#pragma once

#include "headgauge/base.hpp"

namespace headgauge::cli {

// Writes one line to stderr, over the progress bar, and ends the process. A signal handler and any
// thread may call it; of several that do, one is heard.
[[noreturn]] void end_at_once(ErrorKind kind, const char* message) noexcept;

// From now on a read of bytes that a mapped file lost, and memory that the tokenizers library
// cannot have, end the process so. A file that outgrows the limit of the process is an error to
// report.
void say_last_words();

}  // namespace headgauge::cli
