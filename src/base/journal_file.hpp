// A file of records that grows: after a crash it holds all records up to the last that was synced.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "base/descriptor.hpp"
#include "headgauge/journal.hpp"

namespace headgauge {

// docs/formats.md, "Journals". The bytes of numbers are those of the machine.
class JournalFile {
 public:
  struct Header {
    Journal::Identity identity;
    Share share;
    Journal::Identity request = {};
  };
  // A record of a file that was read.
  struct Place {
    std::uint64_t offset = 0;  // of its bytes
    std::uint64_t size = 0;
  };

  // Opens a journal that is there. Throws BadInputError where it is none.
  explicit JournalFile(const std::string& path);
  // Makes one, with its folder, to which records are added at once; is_new(): unless another
  // process made one meanwhile, which stays.
  JournalFile(const std::string& path, const Header& header);
  bool is_new() const { return descriptor_.is_open(); }
  // Whether another process adds to it.
  static bool is_being_written(const std::string& path);
  [[noreturn]] void refuse_to_share() const;

  const std::string& path() const { return path_; }
  const Header& header() const { return header_; }
  // Visits the records from first to last, as far as they are whole.
  void each(const std::function<void(const PartKey&, Place)>& visit);
  // Whether the last record says that nothing is missing; after each().
  bool finished() const { return finished_; }
  Bytes read(Place place) const;
  void read(Place place, std::span<std::byte> into) const;

  // Records are added behind those that each() visited; what stands there goes. ResourceError where
  // another process does the same.
  void begin_adding();
  Place add(const PartKey& key, std::span<const std::byte> bytes);
  void finish();
  // Everything added is on the disk then.
  void sync();

 private:
  void read_header();
  void read_at(std::uint64_t offset, std::span<std::byte> into) const;
  void write(std::span<const std::byte> bytes);
  [[noreturn]] void fail_to_write(int error) const;

  std::string path_;
  Header header_;
  Descriptor descriptor_;
  std::uint64_t end_ = 0;  // of the last whole record
  bool finished_ = false;
};

}  // namespace headgauge
