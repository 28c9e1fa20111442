// Whole files in and out. Reading fails with BadInputError, or ResourceError where the system has
// no more memory or open files to give; writing with ResourceError. All name the path and say what
// the system said.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace headgauge {

// Throws what it means that a file could not be read: `error` is an errno, `size` the file's bytes
// where they are known.
[[noreturn]] void fail_to_read(const std::string& path, int error, std::size_t size = 0);

// The bytes of a file, which may be a pipe.
std::string read_text(const std::string& path);

// A file that appears under its name only when it is complete: bytes go to a temporary file in
// the same folder, commit() renames it. Without commit() nothing is left behind. Of several files
// that belong together, all are finished before the first is committed. A path that already names
// something other than a regular file (/dev/stdout) is written in place.
class AtomicFile {
 public:
  explicit AtomicFile(std::string path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::string_view bytes);
  void finish();  // all bytes are on the disk: commit() needs no more of it
  void commit();
  const std::string& path() const { return path_; }

 private:
  [[noreturn]] void fail(int error);
  void discard() noexcept;

  std::string path_;
  std::string temporary_;  // empty: written in place
  int descriptor_ = -1;
};

// A folder that is made if need be, with those above it. Those that were made and are still empty
// go again with this object.
class MadeFolder {
 public:
  MadeFolder(const std::string& path, const std::string& advice);
  ~MadeFolder();
  MadeFolder(const MadeFolder&) = delete;
  MadeFolder& operator=(const MadeFolder&) = delete;

 private:
  std::vector<std::filesystem::path> made_;  // deepest first
};

// Writes a file atomically, from bytes or from a function that writes piece by piece. An
// exception of the function passes through, and nothing is left behind.
void write_atomically(const std::string& path, std::string_view bytes);
void write_atomically(const std::string& path, const std::function<void(AtomicFile&)>& produce);

}  // namespace headgauge
