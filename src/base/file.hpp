// Whole files in and out. Reading fails with BadInputError, or ResourceError where the system has
// no more memory or open files to give; writing with ResourceError. All name the path and say what
// the system said.
#pragma once

#include <cstddef>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/descriptor.hpp"
#include "headgauge/files.hpp"

namespace headgauge {

// The most bytes that a file of each kind may have: far beyond any that makes sense, and little
// enough to be read.
inline constexpr std::size_t kLargestConfig = std::size_t{64} << 20;  // limits and plans, too
inline constexpr std::size_t kLargestTokenizer = std::size_t{256} << 20;
inline constexpr std::size_t kLargestText = std::size_t{1} << 30;
inline constexpr std::size_t kLargestResults = std::size_t{4} << 30;  // and saved states

// Throws what it means that a file could not be read: `error` is an errno, `size` the file's bytes
// where they are known.
[[noreturn]] void fail_to_read(const std::string& path, int error, std::size_t size = 0);

// Opens a file for reading without waiting for anybody. BadInputError where the path names no
// regular file: a folder, a device, or a pipe unless `pipes` are allowed.
Descriptor open_to_read(const std::string& path, bool pipes = false);

// The bytes of a regular file of at most `most` bytes.
std::string read_file(const std::string& path, std::size_t most = kLargestConfig);

// The first bytes of a file, `most` of them where it has as many. Empty where the path names no
// regular file, also where it is a link to one, or where it cannot be read.
std::string beginning_of(const std::string& path, std::size_t most);

// The bytes of a file or a pipe, of at most kLargestText. A pipe is read until it ends; a stop that
// is asked for meanwhile is an InterruptedError.
std::string read_stream(const std::string& path, const std::stop_token& stop = {});

// Hands them on piece by piece instead, so that the memory does not grow with the file.
void read_pieces(const std::string& path, const std::stop_token& stop,
                 const std::function<void(std::string_view)>& take);

// Writes a file atomically, from bytes or from a function that writes piece by piece. An
// exception of the function passes through, and nothing is left behind.
void write_atomically(const std::string& path, std::string_view bytes);
void write_atomically(const std::string& path, const std::function<void(AtomicFile&)>& produce);

}  // namespace headgauge
