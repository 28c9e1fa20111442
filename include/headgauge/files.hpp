// Files and folders that are written whole or not at all. Writing fails with ResourceError, which
// names the path and says what the system said.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace headgauge {

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

}  // namespace headgauge
