// What a later run reads of what an earlier one saved: the losses of a plan, the cells of a
// simulation, the seal of a part of a reproduction, the journal of a scan.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "base/journal_file.hpp"
#include "base/saved_state.hpp"
#include "base/sha256.hpp"
#include "base/strict_json.hpp"
#include "convergence/state.hpp"
#include "fuzz/contract.hpp"
#include "plan/evaluations.hpp"

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

inline void load_states(std::string_view bytes) {
  const nlohmann::ordered_json identity = {{"seed", 7}, {"model", "tiny"}};
  const MemoryFile file(bytes);
  works_or_is_refused([&] {
    const StateFile state(file.path(), identity);
    const auto sweep = state.load(2, 3, 2);
    if (sweep) StateFile("/dev/null", identity).save(*sweep);
  });
  works_or_is_refused([&] {
    const Evaluations losses(file.path(), identity);
    static_cast<void>(losses.find("set 0", 2));
  });
  works_or_is_refused([&] {
    std::string sum;
    SavedState(file.path(), "headgauge.finished/1", "what was saved", "folder", identity)
        .load([&](const nlohmann::ordered_json& json) { sum = json.at("results_sha256"); });
  });
}

// The bytes as they are, and with the checksum that they ought to have, which no fuzzer guesses.
inline void read_state(std::span<const std::byte> bytes) {
  load_states(text_of(bytes));
  auto json = parse_json_object<nlohmann::ordered_json>(text_of(bytes), "input");
  json.erase("sha256");
  const std::string text = json_text(json);
  json["sha256"] = sha256_hex(std::as_bytes(std::span(text)));
  load_states(json_text(json));
}

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
