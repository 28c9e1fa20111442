// Reads and writes whole files. Reading throws BadInputError, or ResourceError if the system has no
// memory or file descriptors left; writing throws ResourceError. Every message names the path and
// quotes the system's message.
#pragma once

#include <cstddef>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/descriptor.hpp"
#include "headgauge/files.hpp"

namespace headgauge {

// Largest sizes in bytes of each kind of file: far above any sensible file, and small enough to be
// read.
inline constexpr std::size_t kLargestConfig = std::size_t{64} << 20;  // also limits and plans
inline constexpr std::size_t kLargestTokenizer = std::size_t{256} << 20;
inline constexpr std::size_t kLargestText = std::size_t{1} << 30;
inline constexpr std::size_t kLargestResults = std::size_t{4} << 30;
inline constexpr std::size_t kLargestTasks = std::size_t{1} << 40;  // read line by line
inline constexpr std::size_t kLongestCase = std::size_t{16} << 20;  // a line of a task file
inline constexpr std::size_t kLongestPrompt = kLongestCase / 4;     // a text in it

// Throws the error for a file that could not be read. `error` is an errno, `size` the file's bytes
// if known.
[[noreturn]] void fail_to_read(const std::string& path, int error, std::size_t size = 0);

// Opens a file for reading and never blocks. Throws BadInputError if the path is not a regular
// file: a folder, a device, or a pipe unless `pipes` is set.
Descriptor open_to_read(const std::string& path, bool pipes = false);

// Reads a regular file of at most `most` bytes.
std::string read_file(const std::string& path, std::size_t most = kLargestConfig);

// Returns the first `most` bytes of a file, or all if it has fewer. Returns nothing if the path is
// not a regular file, is a link, or cannot be read.
std::string beginning_of(const std::string& path, std::size_t most);

// Reads a file or a pipe of at most kLargestText bytes. Reads a pipe until it ends; throws
// InterruptedError if a stop is requested meanwhile.
std::string read_stream(const std::string& path, const std::stop_token& stop = {});

// Does the same but passes the bytes on in pieces, so that memory does not grow with the file.
void read_pieces(const std::string& path, const std::stop_token& stop,
                 const std::function<void(std::string_view)>& take,
                 std::size_t most = kLargestText);

// Writes a file atomically, from bytes or from a function that writes piece by piece. An exception
// of the function passes through, and no file is left.
void write_atomically(const std::string& path, std::string_view bytes);
void write_atomically(const std::string& path, const std::function<void(AtomicFile&)>& produce);

}  // namespace headgauge
