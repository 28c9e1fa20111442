// The folder of a run's journals: their contents, and what this process adds.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/journal_file.hpp"
#include "headgauge/journal.hpp"

namespace headgauge {

// Throws BadInputError, which names the first entry in which two identities differ; `path` is the
// file with the second.
void require_same_run(const std::string& path, const Journal::Identity& expected,
                      const Journal::Identity& found, const std::string& advice);

class JournalFolder {
 public:
  // Opens the folder to resume a run; `all` also loads what other processes wrote. Throws as
  // Journal::open() does.
  JournalFolder(std::string folder, JournalFile::Header header, bool all,
                const std::string& option);
  // Opens the folders of shards. Throws as Journal::merge() does.
  explicit JournalFolder(const std::vector<std::string>& folders);

  const JournalFile::Header& header() const { return header_; }
  std::string path() const;
  bool empty() const { return places_.empty(); }
  // Returns the stage of the most recently added part of a layer.
  const std::string& latest_stage() const { return latest_stage_; }
  // Returns the number of parts of a stage for each layer.
  std::map<int, Index> parts_of(const std::string& stage) const;
  bool has(const PartKey& key) const { return places_.contains(key); }
  std::optional<Bytes> find(const PartKey& key) const;
  void keep(const PartKey& key, const Bytes& part);

  bool wants_state(std::size_t bytes) const;
  void keep_state(const PartKey& key, std::span<const std::byte> state);
  // The last state of a document: its place and the number of layers before it.
  struct State {
    int layer = 0;
    const JournalFile* file = nullptr;
    JournalFile::Place place;
  };
  std::optional<State> last_state(const std::string& stage, Index document) const;

  void flush();
  // Flushes, unless the run was so short that reading a journal would cost the next run more.
  void flush_if_worth_it();
  void finish();
  // Removes the journals of this run, and the folder if it is then empty.
  void remove();

 private:
  using Clock = std::chrono::steady_clock;
  struct Found {
    const JournalFile* file;
    JournalFile::Place place;
  };
  std::string path_with(std::string_view suffix) const;
  bool is_own(const std::string& path) const;
  // Returns whether the header of a file names this run, so that remove() may delete it.
  bool is_of_this_run(const std::string& path) const;
  void make();
  void read(const std::string& path);
  void join(const std::string& path, std::map<int, std::string>& there);

  std::string folder_;
  JournalFile::Header header_;
  std::vector<std::unique_ptr<JournalFile>> files_;
  JournalFile* own_ = nullptr;
  bool yields_ = false;  // another run keeps its journal here
  std::map<PartKey, Found> places_;
  std::string latest_stage_;
  std::vector<std::pair<PartKey, Bytes>> pending_;
  std::size_t pending_bytes_ = 0;
  Clock::time_point due_;
  std::map<Index, std::string> states_;  // this process's files, by document
  Clock::time_point state_kept_ = Clock::now();
  std::optional<std::chrono::duration<double>> state_cost_;  // time to write the last state
};

}  // namespace headgauge
