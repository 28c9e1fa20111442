// The journal of a run: whose share of the documents it computes, and where that is kept.
#pragma once

#include <memory>
#include <string>

#include "headgauge/journal.hpp"
#include "headgauge/options.hpp"
#include "headgauge/results.hpp"

namespace headgauge::cli {

// --shard I/N
Option shard_option(std::string& shard);
// Throws UsageError for anything but I/N with 1 <= I <= N.
Share parse_shard(const std::string& text);

// Whether this process measures some of the documents alone, or merges what others measured.
bool is_in_part(const std::string& shard);

class RunJournal {
 public:
  // `described`: the model and the texts. `out`: --out; nothing is kept without one.
  RunJournal(const std::string& out, const std::string& shard, const Results& described);

  // Null: none is needed.
  Journal* get() const { return journal_; }
  // Whether this process has the results.
  bool has_results() const { return journal_ == nullptr || journal_->has_results(); }
  // "; run the same command again to go on" where something is kept for that.
  std::string advice() const;
  // "going on from layer 24 of 30" where an earlier run left something; else empty. 0 where it is
  // not known how many layers there are, and how many documents are measured together.
  std::string resumption(Index layers, Index documents) const;
  // What a shard wrote.
  std::string shard_line(const std::string& out) const;

  // The share is done, the results are saved.
  void finish();
  // It was stopped, or failed for a reason that may go away: what was finished stays.
  void keep() noexcept;
  // It would fail again.
  void discard() noexcept;

 private:
  std::unique_ptr<Journal> own_;
  Journal* journal_ = nullptr;
};

// Makes the runs of this thread, while it lives, those of shards that are merged.
class Merging {
 public:
  explicit Merging(Journal& journal);
  ~Merging();
  Merging(const Merging&) = delete;
  Merging& operator=(const Merging&) = delete;
};

}  // namespace headgauge::cli
