// Handles faults that are not exceptions. These functions may be called before any other function
// of the library.
#pragma once

#include <cstddef>

namespace headgauge {

// Returns the message for a read at `address` that the system answered with SIGBUS: a line that
// names the file mapped there, or null if there is none. Safe to call in a signal handler.
const char* lost_bytes_message(const void* address) noexcept;

// Called when a library written in Rust, which no exception can cross, cannot allocate memory. Gets
// the purpose ("tokenizer" or "figures") and the number of bytes asked for. The handler must not
// return; without a handler the process is aborted. It may run on any thread.
using OutOfMemoryHandler = void (*)(const char* what, std::size_t bytes);
void set_out_of_memory_handler(OutOfMemoryHandler handler) noexcept;

}  // namespace headgauge
