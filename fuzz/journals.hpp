// The journal of an earlier run.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "base/journal_file.hpp"
#include "fuzz/contract.hpp"

namespace headgauge::fuzzing {

// A file that is on no disk.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : descriptor_(::memfd_create("input", MFD_CLOEXEC)) {
    const auto size = static_cast<::ssize_t>(bytes.size());
    require(descriptor_ >= 0 && ::write(descriptor_, bytes.data(), bytes.size()) == size);
  }
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

// Records lie within the file, one behind the other, and can be read.
inline void read_journal(std::span<const std::byte> bytes) {
  const MemoryFile input(text_of(bytes));
  JournalFile file(input.path());
  std::uint64_t end = 0;
  file.each([&](const PartKey&, JournalFile::Place place) {
    require(place.offset >= end && place.size <= bytes.size() - place.offset);
    end = place.offset + place.size;
    require(file.read(place).size() == place.size);
  });
}

}  // namespace headgauge::fuzzing
