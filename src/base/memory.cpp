#include "base/memory.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

#include "headgauge/base.hpp"

namespace headgauge {
namespace {

constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();

// The value in kB of a "Name:  123 kB" line.
std::size_t read_kilobytes(const char* path, const std::string& name) {
  std::ifstream file(path);
  std::string word;
  while (file >> word) {
    std::size_t value = 0;
    if (word == name && file >> value) return value * 1024;
    std::getline(file, word);
  }
  return kUnlimited;
}

std::size_t read_number(const char* path) {
  std::ifstream file(path);
  std::size_t value = 0;
  return file >> value ? value : kUnlimited;
}

}  // namespace

std::size_t available_memory() {
  std::size_t available = read_kilobytes("/proc/meminfo", "MemAvailable:");
  const std::size_t group_limit = read_number("/sys/fs/cgroup/memory.max");
  if (group_limit != kUnlimited) {
    const std::size_t used = read_number("/sys/fs/cgroup/memory.current");
    available = std::min(available, group_limit > used ? group_limit - used : 0);
  }
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    const std::size_t used = read_kilobytes("/proc/self/status", "VmSize:");
    const auto cap = static_cast<std::size_t>(limit.rlim_cur);
    available = std::min(available, used < cap ? cap - used : 0);
  }
  return available;
}

std::string format_bytes(std::size_t bytes) {
  const auto value = static_cast<double>(bytes);
  if (value >= 1e9) return fmt::format("{:.1f} GB", value / 1e9);
  return fmt::format("{:.0f} MB", std::max(1.0, value / 1e6));
}

void require_memory(std::size_t needed, const std::string& what, const std::string& advice) {
  const std::size_t available = available_memory();
  if (needed <= available) return;
  throw ResourceError(fault(what, format_bytes(needed) + " of memory",
                            format_bytes(available) + " available", advice));
}

}  // namespace headgauge
