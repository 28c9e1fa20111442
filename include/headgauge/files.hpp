// Files and folders that are written whole or not at all. Writing fails with ResourceError, which
// names the path and says what the system said.
#pragma once

#include <deque>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace headgauge {

// A file that appears under its name only when it is complete: bytes go to a temporary file in
// the same folder, commit() renames it. Without commit() nothing is left behind, and what a killed
// process left behind goes when the same file is next written. A path that already names something
// other than a regular file (/dev/stdout) is written in place; a pipe that nobody reads is refused.
class AtomicFile {
 public:
  explicit AtomicFile(std::string path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::string_view bytes);
  void commit();
  const std::string& path() const { return path_; }

 private:
  friend class AtomicFiles;
  void open_in_place(bool pipe);
  void finish();  // all bytes are on the disk: what follows needs no more of it
  void require_no_folder();
  void rename();
  void close() noexcept;
  [[noreturn]] void fail(int error);
  [[noreturn]] void refuse(const std::string& found, const char* advice);
  void discard() noexcept;

  std::string path_;
  std::string temporary_;  // empty: written in place, or renamed
  int descriptor_ = -1;
};

// Files of one folder that are one result. The first is the result, the others follow from it. All
// are written before anything changes, so a full disk leaves the old ones. Then, under a lock of
// the folder, the old others go, the first takes its place, and the new others take theirs: at no
// moment does the first stand beside others that are not its own, though they may be missing.
// Nothing but files may stand in their place.
class AtomicFiles {
 public:
  explicit AtomicFiles(std::string folder);

  // A file of this name to be written; valid as long as this object is.
  AtomicFile& add(const std::string& name);
  // A file that is no part of the new ones, and goes with the old ones.
  void remove(const std::string& name);
  void commit();
  // The path of the file of this name.
  std::string path(const std::string& name) const;

 private:
  std::string folder_;
  std::deque<AtomicFile> files_;
  std::vector<std::string> removed_;
};

// SHA-256 of a file, in lower-case hex. Throws BadInputError where it cannot be read.
std::string file_sha256(const std::string& path);
// The same of a text.
std::string text_sha256(std::string_view text);

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
