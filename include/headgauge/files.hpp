// Files and folders that are written whole or not at all. Failed writes throw ResourceError, which
// names the path and quotes the system's message.
#pragma once

#include <deque>
#include <filesystem>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace headgauge {

// A file that appears under its name only when it is complete: bytes go to a temporary file in the
// same folder, and commit() renames it. Without commit() no file is left. If the process is killed,
// the next write of the same file removes the temporary file. A path that already names something
// other than a regular file (/dev/stdout) is written in place; a pipe without a reader is refused.
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
  void finish();  // puts all bytes on the disk, so that rename() needs no more space
  void require_no_folder();
  void rename();
  void close() noexcept;
  [[noreturn]] void fail(int error);
  [[noreturn]] void refuse(const std::string& found, const char* advice);
  void discard() noexcept;

  std::string path_;
  std::string temporary_;  // empty if the file is written in place or was renamed
  int descriptor_ = -1;
};

// Files of one folder that form one result. The first is the result, the others are derived from
// it. All are written before anything changes, so a full disk leaves the old ones. Then, under a
// lock of the folder, the old others are removed, the first replaces its old file, and the new
// others appear: the first never stands next to others that are not its own, though they may be
// missing. Only regular files are replaced.
class AtomicFiles {
 public:
  explicit AtomicFiles(std::string folder);

  // Returns a file of this name to write to; valid as long as this object exists.
  AtomicFile& add(const std::string& name);
  // Names a file that the new result does not have and that commit() removes with the old files.
  void remove(const std::string& name);
  void commit();
  // Returns the path of the file of this name.
  std::string path(const std::string& name) const;

 private:
  std::string folder_;
  std::deque<AtomicFile> files_;
  std::vector<std::string> removed_;
};

// Returns the SHA-256 of a file in lower-case hex. Throws BadInputError if it cannot be read,
// InterruptedError if a stop is requested.
std::string file_sha256(const std::string& path, const std::stop_token& stop = {});
// Returns the SHA-256 of a text in lower-case hex.
std::string text_sha256(std::string_view text);

// Throws UsageError if `out`, a file or a folder to write to, is one of the files and folders
// `read` or lies in one, or if a file or a folder `names` in it is, lies in or holds one. Links
// count as what they lead to; pipes and devices in `read` do not count.
void require_unread(const std::string& out, const std::vector<std::string>& read,
                    const std::vector<std::string>& names = {});

// A folder that is created if need be, with its parents. Created folders that are still empty are
// removed with this object.
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
