#include "base/memory.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <limits>
#include <string>

#include "headgauge/base.hpp"
#include "headgauge/faults.hpp"

namespace headgauge {
namespace {

std::atomic<OutOfMemoryHandler> out_of_memory_handler = nullptr;

constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();

// Reads the number after the word `name` at the start of a line.
std::size_t read_entry(const std::string& path, const std::string& name) {
  std::ifstream file(path);
  std::string word;
  while (file >> word) {
    std::size_t value = 0;
    if (word == name && file >> value) return value;
    file.clear();
    std::getline(file, word);
  }
  return kUnlimited;
}

// Reads the value of a "Name:  123 kB" line.
std::size_t read_kilobytes(const std::string& path, const std::string& name) {
  const std::size_t value = read_entry(path, name);
  return value == kUnlimited ? kUnlimited : value * 1024;
}

std::size_t read_number(const std::string& path) {
  std::ifstream file(path);
  std::size_t value = 0;
  return file >> value ? value : kUnlimited;
}

std::size_t difference(std::size_t a, std::size_t b) {
  return a > b ? a - b : 0;
}

// The file names of one version of control groups.
struct GroupFiles {
  const char* mount;
  const char* limit;
  const char* used;
  const char* inactive;  // entry of memory.stat: file pages that are dropped when memory is short
  const char* active;
};
constexpr GroupFiles kVersion2{"/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file",
                               "active_file"};
constexpr GroupFiles kVersion1{"/sys/fs/cgroup/memory", "memory.limit_in_bytes",
                               "memory.usage_in_bytes", "total_inactive_file", "total_active_file"};

std::size_t left_in_group(const std::string& folder, const GroupFiles& files) {
  const std::size_t limit = read_number(folder + "/" + files.limit);
  const std::size_t used = read_number(folder + "/" + files.used);
  if (limit == kUnlimited || used == kUnlimited) return limit;
  std::size_t held = used;
  for (const char* name : {files.inactive, files.active}) {
    const std::size_t pages = read_entry(folder + "/memory.stat", name);
    if (pages != kUnlimited) held = difference(held, pages);
  }
  return difference(limit, held);
}

// Returns this process's group from the lines of /proc/self/cgroup ("0::/a/b", "4:memory:/a/b");
// "/" if no line names one.
std::string own_group(const std::string& root, bool version1) {
  std::ifstream file(root + "/proc/self/cgroup");
  std::string line;
  while (std::getline(file, line)) {
    const auto first = line.find(':');
    const auto second = first == line.npos ? first : line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const bool fits = version1 ? controllers.find(",memory,") != controllers.npos
                               : line.compare(0, second, "0:") == 0;
    if (fits) return line.substr(second + 1);
  }
  return "/";
}

// Returns the least memory that the group or one of its parents has left. In a container the
// group's path may not exist; the mount is then the container's group.
std::size_t left_in_groups(const std::string& root, const GroupFiles& files, bool version1) {
  std::string group = own_group(root, version1);
  std::size_t left = kUnlimited;
  for (;;) {
    left = std::min(left, left_in_group(root + files.mount + group, files));
    if (group.empty()) return left;
    group.erase(group.rfind('/') == group.npos ? 0 : group.rfind('/'));
  }
}

// Returns what is left of a limit of this process; `used` names the line of its /proc status with
// the amount in use.
std::size_t left_of_limit(decltype(RLIMIT_AS) which, const char* used) {
  rlimit limit{};
  if (getrlimit(which, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kUnlimited;
  return difference(static_cast<std::size_t>(limit.rlim_cur),
                    read_kilobytes("/proc/self/status", used));
}

}  // namespace

std::size_t available_memory(const std::string& root) {
  std::size_t available = read_kilobytes(root + "/proc/meminfo", "MemAvailable:");
  available = std::min(available, left_in_groups(root, kVersion2, false));
  available = std::min(available, left_in_groups(root, kVersion1, true));
  available = std::min(available, left_of_limit(RLIMIT_AS, "VmSize:"));
  available = std::min(available, left_of_limit(RLIMIT_DATA, "VmData:"));
  return available;
}

void set_out_of_memory_handler(OutOfMemoryHandler handler) noexcept {
  out_of_memory_handler = handler;
}

void out_of_memory(const char* what, std::size_t bytes) noexcept {
  const OutOfMemoryHandler handler = out_of_memory_handler;
  if (handler != nullptr) handler(what, bytes);
}

std::string format_bytes(std::size_t bytes) {
  const char* const units[] = {"bytes", "kB", "MB", "GB", "TB", "PB", "EB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 999.5 && unit + 1 < std::size(units); ++unit) value /= 1000;
  return fmt::format("{:.3g} {}", value, units[unit]);
}

void require_memory(std::size_t needed, const std::string& what, const std::string& advice) {
  const std::size_t available = available_memory();
  if (needed <= available) return;
  throw ResourceError(fault(what, format_bytes(needed) + " of memory",
                            format_bytes(available) + " available", advice));
}

}  // namespace headgauge
