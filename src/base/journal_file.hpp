// A growing file of records: after a crash it has all records up to the last sync.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "base/descriptor.hpp"
#include "headgauge/journal.hpp"

namespace headgauge {

// See docs/formats.md, "Journals", for the format. Numbers are in the machine's byte order.
class JournalFile {
 public:
  struct Header {
    Journal::Identity identity;
    Share share;
    Journal::Identity request = {};
  };
  // The place of a record in a file that was read.
  struct Place {
    std::uint64_t offset = 0;  // start of its bytes
    std::uint64_t size = 0;
  };

  // Opens an existing journal. Throws BadInputError if the file is not a journal.
  explicit JournalFile(const std::string& path);
  // Creates a journal and its folder, ready for adding. If another process creates the same file
  // first, that one is kept and is_new() is false.
  JournalFile(const std::string& path, const Header& header);
  bool is_new() const { return descriptor_.is_open(); }
  // Returns whether another process is adding records.
  static bool is_being_written(const std::string& path);
  [[noreturn]] void refuse_to_share() const;

  const std::string& path() const { return path_; }
  const Header& header() const { return header_; }
  // Visits all complete records from first to last.
  void each(const std::function<void(const PartKey&, Place)>& visit);
  // Returns whether the last record marks the share as complete; valid after each().
  bool finished() const { return finished_; }
  Bytes read(Place place) const;
  void read(Place place, std::span<std::byte> into) const;

  // Prepares to add records after those that each() visited; removes what follows them. Throws
  // ResourceError if another process is adding.
  void begin_adding();
  Place add(const PartKey& key, std::span<const std::byte> bytes);
  void finish();
  // Writes everything added to the disk.
  void sync();

 private:
  void read_header();
  void read_at(std::uint64_t offset, std::span<std::byte> into) const;
  void write(std::span<const std::byte> bytes);
  [[noreturn]] void fail_to_write(int error) const;

  std::string path_;
  Header header_;
  Descriptor descriptor_;
  std::uint64_t end_ = 0;  // end of the last complete record
  bool finished_ = false;
};

}  // namespace headgauge
