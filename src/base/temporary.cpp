#include "base/temporary.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string_view>
#include <thread>

#include "headgauge/base.hpp"

namespace headgauge {
namespace {

constexpr std::string_view kDigits = "abcdefghijklmnopqrstuvwxyz234567";
constexpr std::size_t kDrawn = 12;  // digits of 5 bits
constexpr std::string_view kEnding = ".tmp";
constexpr std::size_t kLongestStem = 200;  // bytes of a name; names may have 255
constexpr int kTrials = 100;

std::string drawn_digits() {
  std::uint64_t word = 0;
  if (::getrandom(&word, sizeof word, 0) != static_cast<ssize_t>(sizeof word)) {
    word = static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  }
  std::string digits;
  for (std::size_t i = 0; i < kDrawn; ++i) digits += kDigits[(word >> (5 * i)) & 31];
  return digits;
}

// Returns "FOLDER/NAME.", which the names of temporaries for FOLDER/NAME start with.
std::string stem_of(const std::string& path) {
  const auto name = path.rfind('/') + 1;  // 0 if there is no slash
  return path.substr(0, name) + path.substr(name, kLongestStem) + ".";
}

bool is_temporary(std::string_view name, std::string_view stem) {
  if (name.size() != stem.size() + kDrawn + kEnding.size()) return false;
  return name.starts_with(stem) && name.ends_with(kEnding) &&
         name.substr(stem.size(), kDrawn).find_first_not_of(kDigits) == name.npos;
}

void remove_if_stray(const std::string& path, bool folder) {
  const Descriptor opened(::open(path.c_str(), (folder ? O_RDONLY | O_DIRECTORY : O_WRONLY) |
                                                   O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status {};
  if (!opened.is_open() || ::fstat(*opened, &status) != 0) return;
  // A writer that has just created the temporary and has no lock yet fails to lock it and draws
  // another name.
  if ((!folder && !S_ISREG(status.st_mode)) || ::flock(*opened, LOCK_EX | LOCK_NB) != 0) return;
  std::error_code kept;
  std::filesystem::remove_all(path, kept);
}

// Locks the file and returns whether it is this process's own and still exists. A file system
// without locks counts as locked.
bool take(int descriptor) {
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return false;
  struct stat status {};
  return ::fstat(descriptor, &status) == 0 && status.st_nlink > 0;
}

}  // namespace

std::string parent_folder(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

int open_temporary(const std::string& path, std::string& name, bool folder) {
  for (int trial = 0; trial < kTrials; ++trial) {
    name = stem_of(path).append(drawn_digits()).append(kEnding);
    const bool made = !folder || ::mkdir(name.c_str(), 0777) == 0;
    const int flags = folder ? O_RDONLY | O_DIRECTORY : O_WRONLY | O_CREAT | O_EXCL;
    const int descriptor = made ? ::open(name.c_str(), flags | O_CLOEXEC, 0666) : -1;
    if (descriptor < 0 && errno == EEXIST) continue;
    if (descriptor < 0 || take(descriptor)) return descriptor;
    ::close(descriptor);
  }
  errno = EEXIST;
  return -1;
}

void remove_strays(const std::string& path, bool folder) {
  const std::string within = parent_folder(path);
  const std::string whole = stem_of(path);
  const std::string_view stem = std::string_view(whole).substr(whole.rfind('/') + 1);
  DIR* const entries = ::opendir(within.c_str());
  if (entries == nullptr) return;
  while (const dirent* entry = ::readdir(entries)) {
    if (is_temporary(entry->d_name, stem)) remove_if_stray(within + "/" + entry->d_name, folder);
  }
  ::closedir(entries);
}

int put_in_place(std::string& temporary, const std::string& path) {
  const auto move = [](const std::string& from, const std::string& to, unsigned flags = 0) {
    return ::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), flags) == 0;
  };
  if (move(temporary, path, RENAME_EXCHANGE)) return 0;
  if (errno == ENOENT && move(temporary, path)) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  std::string old;
  const Descriptor lock(open_temporary(path, old, true));
  if (!lock.is_open() || (!move(path, old) && errno != ENOENT)) return errno;
  if (!move(temporary, path)) {
    const int error = errno;
    move(old, path);
    return error;
  }
  temporary = old;
  return 0;
}

void sync_folder(const std::string& folder) {
  const Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.is_open()) ::fsync(*opened);
}

FolderLock::FolderLock(const std::string& folder, std::chrono::milliseconds patience)
    : descriptor_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (::flock(*descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    if (std::chrono::steady_clock::now() > end) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

}  // namespace headgauge
