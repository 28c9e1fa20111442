// Whole files in and out. Reading fails with BadInputError, or ResourceError where the system has
// no more memory or open files to give; writing with ResourceError. All name the path and say what
// the system said.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "headgauge/files.hpp"

namespace headgauge {

// Throws what it means that a file could not be read: `error` is an errno, `size` the file's bytes
// where they are known.
[[noreturn]] void fail_to_read(const std::string& path, int error, std::size_t size = 0);

// The bytes of a file, which may be a pipe.
std::string read_text(const std::string& path);

// Writes a file atomically, from bytes or from a function that writes piece by piece. An
// exception of the function passes through, and nothing is left behind.
void write_atomically(const std::string& path, std::string_view bytes);
void write_atomically(const std::string& path, const std::function<void(AtomicFile&)>& produce);

}  // namespace headgauge
