#include "base/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <new>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "base/memory.hpp"
#include "headgauge/base.hpp"

namespace headgauge {
namespace {

std::string error_text(int error) {
  return std::generic_category().message(error);
}

// The folder that a path lies in, for opening.
std::string parent(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

void fail_to_read(const std::string& path, int error, std::size_t size) {
  if (error == EMFILE || error == ENFILE) {
    throw ResourceError(fault(path, "one more file to open", error_text(error),
                              "allow more open files (ulimit -n)"));
  }
  if (error == ENOMEM) {
    const std::string needed = size > 0 ? format_bytes(size) + " of memory" : "memory";
    throw ResourceError(fault(path, needed + " for the file", error_text(error),
                              "allow more memory (ulimit -v) or use a smaller file"));
  }
  throw BadInputError(fault(path, "a readable file", error_text(error),
                            error == ENOENT ? "check the path" : "check what the path names"));
}

std::string read_text(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) fail_to_read(path, errno);
  struct Closer {
    int descriptor;
    ~Closer() { ::close(descriptor); }
  } closer{descriptor};

  std::string bytes;
  struct stat status {};
  std::size_t size = 0;
  if (::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
    size = static_cast<std::size_t>(status.st_size);
  }
  try {
    bytes.reserve(size);
    char buffer[1 << 16];
    for (;;) {
      const ssize_t n = ::read(descriptor, buffer, sizeof buffer);
      if (n == 0) return bytes;
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) fail_to_read(path, errno, size);
      bytes.append(buffer, static_cast<std::size_t>(n));
    }
  } catch (const std::bad_alloc&) {
    fail_to_read(path, ENOMEM, std::max(size, bytes.size()));
  } catch (const std::length_error&) {  // more bytes than any memory has
    fail_to_read(path, ENOMEM, size);
  }
}

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)) {
  struct stat status {};
  const bool exists = ::stat(path_.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) fail(EISDIR);
  if (exists && !S_ISREG(status.st_mode)) {
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
  } else {
    static std::atomic<unsigned> counter{0};
    temporary_ = path_ + "." + std::to_string(::getpid()) + "-" +
                 std::to_string(counter.fetch_add(1)) + ".tmp";
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ < 0) {
      const int error = errno;
      temporary_.clear();  // not ours to remove
      fail(error);
    }
  }
  if (descriptor_ < 0) fail(errno);
}

AtomicFile::~AtomicFile() {
  discard();
}

void AtomicFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(descriptor_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail(errno);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

void AtomicFile::finish() {
  if (descriptor_ < 0) return;
  // Without fsync a crash soon after the rename may leave the new name with no bytes in it.
  // Special files (a terminal, a pipe) cannot be synced and say EINVAL.
  if (::fsync(descriptor_) != 0 && errno != EINVAL && errno != ENOTSUP) fail(errno);
  const int closed = ::close(std::exchange(descriptor_, -1));
  if (closed != 0 && errno != EINTR) fail(errno);
}

void AtomicFile::commit() {
  finish();
  if (temporary_.empty()) return;
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail(errno);
  temporary_.clear();
  const int folder = ::open(parent(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;  // the file is there; only its survival of a power cut is less sure
  ::fsync(folder);
  ::close(folder);
}

void AtomicFile::fail(int error) {
  discard();
  const char* advice = error == ENOSPC || error == EDQUOT || error == EFBIG
                           ? "free some space or write elsewhere"
                           : "write elsewhere or change its permissions";
  throw ResourceError(fault(path_, "a place that can be written", error_text(error), advice));
}

void AtomicFile::discard() noexcept {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  temporary_.clear();
}

MadeFolder::MadeFolder(const std::string& path, const std::string& advice) {
  namespace fs = std::filesystem;
  std::error_code error;
  for (fs::path at = path; !at.empty() && !fs::exists(at, error); at = at.parent_path()) {
    made_.push_back(at);
  }
  for (const fs::path& folder : made_) {
    if (!fs::is_symlink(fs::symlink_status(folder, error))) continue;
    throw ResourceError(fault(path, "a folder that can be written",
                              "a link to what is not there (" + folder.string() + ")", advice));
  }
  fs::create_directories(path, error);
  if (!error && !fs::is_directory(path)) error = std::make_error_code(std::errc::not_a_directory);
  if (error) {
    throw ResourceError(fault(path, "a folder that can be written", error.message(), advice));
  }
}

MadeFolder::~MadeFolder() {
  std::error_code kept;  // for there is something in it
  for (const std::filesystem::path& folder : made_) std::filesystem::remove(folder, kept);
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

}  // namespace headgauge
