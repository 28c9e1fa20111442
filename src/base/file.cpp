#include "base/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <new>
#include <span>
#include <stdexcept>
#include <system_error>

#include "base/memory.hpp"
#include "base/sha256.hpp"
#include "headgauge/base.hpp"

namespace headgauge {
namespace {

constexpr int kGlance = 100;                             // ms between checks for a stop
constexpr std::size_t kUnasked = std::size_t{64} << 20;  // bytes read without a memory check

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

[[noreturn]] void interrupt() {
  throw InterruptedError("interrupted before anything was finished; nothing was saved");
}

// Waits until there is something to read, or the end. A pipe that no process has opened for writing
// yet has not ended.
void wait_to_read(int descriptor, const std::stop_token& stop) {
  pollfd watched{descriptor, POLLIN, 0};
  for (;;) {
    if (stop.stop_requested()) interrupt();
    if (::poll(&watched, 1, kGlance) > 0) return;
  }
}

// An open regular file or pipe, and its size if known.
class Input {
 public:
  Input(const std::string& path, bool pipes, std::size_t most)
      : descriptor_(open_to_read(path, pipes)), path_(path), most_(most) {
    struct stat status {};
    if (::fstat(*descriptor_, &status) != 0) fail_to_read(path, errno);
    regular_ = S_ISREG(status.st_mode);
    if (regular_) size_ = static_cast<std::size_t>(status.st_size);
    if (size_ > most) {
      throw BadInputError(fault(path, fmt::format("a file of at most {}", format_bytes(most)),
                                format_bytes(size_), "check what the path names"));
    }
  }

  // Returns 0 if the size is not known.
  std::size_t size() const { return size_; }

  void read(const std::function<void(std::string_view)>& take, const std::stop_token& stop) const {
    if (!regular_) wait_to_read(*descriptor_, stop);
    std::size_t total = 0;
    char buffer[1 << 16];
    for (;;) {
      if (stop.stop_requested()) interrupt();
      const ssize_t n = ::read(*descriptor_, buffer, sizeof buffer);
      if (n == 0) return;
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN) {
        wait_to_read(*descriptor_, stop);
        continue;
      }
      if (n < 0) fail_to_read(path_, errno, size_);
      total += static_cast<std::size_t>(n);
      if (total > most_) {
        throw BadInputError(fault(path_, fmt::format("at most {}", format_bytes(most_)), "more",
                                  "check what the path names"));
      }
      take({buffer, static_cast<std::size_t>(n)});
    }
  }

 private:
  Descriptor descriptor_;
  const std::string& path_;
  std::size_t most_;
  std::size_t size_ = 0;
  bool regular_ = false;
};

// Reads all bytes; refuses before reading if they do not fit in memory.
std::string read_all(const Input& input, const std::string& path, const std::stop_token& stop) {
  const auto allow = [&](std::size_t bytes) {
    if (bytes > kUnasked) require_memory(bytes, path, "use a smaller file");
  };
  std::string bytes;
  try {
    allow(input.size());
    bytes.reserve(input.size());
    std::size_t allowed = std::max(input.size(), kUnasked);
    input.read(
        [&](std::string_view piece) {
          if (bytes.size() + piece.size() > allowed) allow(allowed *= 2);
          bytes.append(piece);
        },
        stop);
  } catch (const std::bad_alloc&) {
    fail_to_read(path, ENOMEM, std::max(input.size(), bytes.size()));
  } catch (const std::length_error&) {  // more bytes than any memory has
    fail_to_read(path, ENOMEM, input.size());
  }
  return bytes;
}

}  // namespace

void fail_to_read(const std::string& path, int error, std::size_t size) {
  const std::string found = std::generic_category().message(error);
  if (error == EMFILE || error == ENFILE) {
    throw ResourceError(
        fault(path, "one more file to open", found, "allow more open files (ulimit -n)"));
  }
  if (error == ENOMEM) {
    const std::string needed = size > 0 ? format_bytes(size) + " of memory" : "memory";
    throw ResourceError(fault(path, needed + " for the file", found,
                              "allow more memory (ulimit -v) or use a smaller file"));
  }
  throw BadInputError(fault(path, "a readable file", found,
                            error == ENOENT ? "check the path" : "check what the path names"));
}

Descriptor open_to_read(const std::string& path, bool pipes) {
  // O_NONBLOCK: the open does not wait for a pipe's writer; the pipe is refused or polled.
  Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  int error = descriptor.is_open() ? 0 : errno;
  struct stat status {};
  if (error == ENXIO) {  // a socket, which cannot be opened by path, or a missing device
    error = ::stat(path.c_str(), &status) == 0 ? 0 : errno;
  } else if (error == 0) {
    error = ::fstat(*descriptor, &status) == 0 ? 0 : errno;
  }
  const bool taken = S_ISREG(status.st_mode) || (pipes && S_ISFIFO(status.st_mode));
  if (error == 0 && descriptor.is_open() && taken) return descriptor;
  if (error != 0) fail_to_read(path, error);
  throw BadInputError(fault(path, pipes ? "a file or a pipe" : "a file", kind_of(status.st_mode),
                            "check what the path names"));
}

std::string read_file(const std::string& path, std::size_t most) {
  return read_all(Input(path, false, most), path, {});
}

std::string beginning_of(const std::string& path, std::size_t most) {
  struct stat status {};
  const Descriptor file(
      ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW));
  if (!file.is_open() || ::fstat(*file, &status) != 0 || !S_ISREG(status.st_mode)) return "";
  std::string bytes(std::min(most, static_cast<std::size_t>(status.st_size)), '\0');
  if (read_all_at(*file, 0, std::as_writable_bytes(std::span(bytes))) != 0) return "";
  return bytes;
}

std::string read_stream(const std::string& path, const std::stop_token& stop) {
  return read_all(Input(path, true, kLargestText), path, stop);
}

void read_pieces(const std::string& path, const std::stop_token& stop,
                 const std::function<void(std::string_view)>& take, std::size_t most) {
  Input(path, true, most).read(take, stop);
}

void write_atomically(const std::string& path, std::string_view bytes) {
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

void write_atomically(const std::string& path, const std::function<void(AtomicFile&)>& produce) {
  AtomicFile file(path);
  produce(file);
  file.commit();
}

std::string file_sha256(const std::string& path, const std::stop_token& stop) {
  Sha256 sum;
  const auto add = [&](std::string_view piece) { sum.add(std::as_bytes(std::span(piece))); };
  read_pieces(path, stop, add, std::numeric_limits<std::size_t>::max());
  return sum.hex();
}

std::string text_sha256(std::string_view text) {
  return sha256_hex(std::as_bytes(std::span(text)));
}

}  // namespace headgauge
