// What a program can do about faults that are no exceptions. Each of these functions may be called
// before anything else is.
#pragma once

#include <cstddef>

namespace headgauge {

// What to say of a read at `address` that the system answered with SIGBUS: a line that names the
// file that is mapped there; null where none is. A signal handler may call it.
const char* lost_bytes_message(const void* address) noexcept;

// Called when a library that is written in Rust, and cannot be told by an exception, may take no
// more memory: with what it is for ("tokenizer" or "figures") and the bytes that were asked for. It
// must not return; without one the process is aborted. It may run on any thread.
using OutOfMemoryHandler = void (*)(const char* what, std::size_t bytes);
void set_out_of_memory_handler(OutOfMemoryHandler handler) noexcept;

}  // namespace headgauge
