// The finished parts of a run: an interrupted run resumes from them, and merge() joins those of
// several processes.
#pragma once

#include <compare>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headgauge/base.hpp"
#include "headgauge/bytes.hpp"

namespace headgauge {

class JournalFolder;

// The subfolder of the results that contains the journals.
inline constexpr const char* kJournalFolder = "journal";

// Identifies what one stage of a run computes for one document in one layer.
struct PartKey {
  std::string stage;  // "compare/original/"
  int layer = 0;      // -1: the part belongs to no layer
  Index document = 0;
  auto operator<=>(const PartKey&) const = default;
};

// The number of this process, from 0, among `count` processes.
struct Share {
  int index = 0;
  int count = 1;
  bool operator==(const Share&) const = default;
};

// Assigns documents to `count` processes: the costliest documents first, each to the process with
// the smallest total so far (the first of equals). Returns the process of each document.
std::vector<int> deal_documents(std::span<const double> costs, int count);

// Returns the costs of documents of these lengths (in tokens), in arbitrary units.
std::vector<double> document_costs(std::span<const Index> lengths);

// A run asks the journal for every part in turn: the journal has it, or this process computes and
// keeps it, or another shard does. Parts have the same bits whichever process computes them. Not
// thread-safe, except for no_journal().
class Journal {
 public:
  // Everything that the numbers of a run depend on, as entries that are compared one by one.
  using Identity = nlohmann::ordered_json;
  enum class Role {
    none,   // computes all parts and keeps nothing
    alone,  // computes all parts
    shard,  // computes its share and keeps it for merge()
    merge,  // has the shares of all processes
  };

  // Writes nothing to the disk before open().
  explicit Journal(Role role = Role::alone, Share share = {});
  // Joins the shards in these folders. Throws BadInputError if one is missing, unfinished,
  // duplicated or of another run than the first.
  static std::unique_ptr<Journal> merge(const std::vector<std::string>& folders);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  // Reads the journals in `folder`, if there are any, and prepares this process's own journal: it
  // is created with the first part, and an existing one is truncated after its last complete
  // record. Stores `request` for merge(). Throws BadInputError if a journal is of another run,
  // ResourceError if another process writes the same one; messages advise a different value of
  // `option`.
  void open(const std::string& folder, const Identity& identity, const std::string& option,
            const Identity& request = {});
  // Returns the identity of the merged shards.
  const Identity& identity() const;
  // Returns the `request` that the first shard gave open().
  const Identity& request() const;
  void require_identity(const Identity& identity) const;

  // Names the stage of the parts that follow, as long as this object exists.
  class Stage {
   public:
    Stage(Journal& journal, std::string_view name);
    ~Stage();
    Stage(const Stage&) = delete;
    Stage& operator=(const Stage&) = delete;

   private:
    Journal& journal_;
    std::size_t length_;
  };

  // The assignment of documents to processes.
  struct Dealt {
    static constexpr int kEach = -1;  // every process computes all documents
    std::vector<int> owners;          // the process of each document
    int sole = kEach;                 // the process of all documents if `owners` is empty
    bool by_deal = false;             // true if a Deal made this assignment
  };
  // Assigns the documents of the stages that follow to processes, as long as this object exists,
  // unless an enclosing Deal did. Without a Deal every process computes all documents.
  class Deal {
   public:
    Deal(Journal& journal, std::span<const double> costs);
    // Assigns all documents to the process that has document `of` in the enclosing Deal.
    Deal(Journal& journal, Index of);
    // Makes every process compute all documents.
    explicit Deal(Journal& journal);
    ~Deal();
    Deal(const Deal&) = delete;
    Deal& operator=(const Deal&) = delete;

   private:
    Journal& journal_;
    bool assigns_;
    Dealt before_;
  };

  // Returns whether this process computes missing parts of the document.
  bool computes(Index document) const;
  // Returns whether this process makes the results of the run.
  bool has_results() const { return role_ != Role::shard; }
  // Returns whether this process has all parts of the current stage: if its documents are assigned
  // to processes, only the process that makes the results has them.
  bool has_all() const { return has_results() || !is_dealt(); }
  // Returns whether parts are kept at all; if not, they need not be serialised.
  bool keeps() const { return role_ != Role::none; }
  Role role() const { return role_; }
  const Share& share() const { return share_; }

  // Returns a part of the current stage; nullopt if the journal does not have it. Throws the
  // AttentionError that fail() recorded for the part, and BadInputError if merged shards lack the
  // part.
  std::optional<Bytes> find(int layer, Index document);
  // Returns whether a part of the current stage is already in a file.
  bool computed(int layer, Index document) const;
  void keep(int layer, Index document, const Bytes& part);
  // Records that the part cannot be computed: find() then throws an AttentionError with this
  // message.
  void fail(int layer, Index document, const std::string& message);

  // The hidden states of a document after the layers before `layer`, with which a resumed run skips
  // these layers. wants_state() returns whether saving a state of that size is worth its time now.
  bool wants_state(std::size_t bytes) const;
  void keep_state(int layer, Index document, std::span<const std::byte> state);
  // Returns the layer of the document's saved state in the current stage; 0 if there is none.
  int state_layer(Index document) const;
  void read_state(Index document, std::span<std::byte> into) const;

  // Writes everything kept to the disk; `finished`: the share is complete.
  void flush(bool finished = false);
  // The same for a stopped run, unless it was too short for a journal.
  void flush_if_worth_it();
  // Returns whether an earlier, unfinished run left parts.
  bool goes_on() const;
  // The stage and the layer from which the run resumes; nullopt if no part of a layer was kept.
  // `documents`: the number of documents of the stage, 0 if unknown.
  struct Resumed {
    std::string stage;
    int layer = 0;
  };
  std::optional<Resumed> resumed(Index documents) const;
  // Returns the path of this process's journal; empty if it keeps none.
  std::string path() const;
  // Removes the journals of a finished run.
  void remove();

 private:
  bool is_dealt() const { return !dealt_.owners.empty() || dealt_.sole != Dealt::kEach; }
  int owner(Index document) const;
  void put(int layer, Index document, const Bytes& framed);

  Role role_;
  Share share_;
  std::unique_ptr<JournalFolder> folder_;
  std::string stage_;
  Dealt dealt_;
  std::map<PartKey, std::string> failed_;  // failures in this process
};

// Returns the path of the journal in `folder` of a process with this share.
std::string journal_path(const std::string& folder, const Share& share);

// Returns the journal of runs that keep nothing. Any number of threads may share it.
Journal& no_journal();

// The journal that options name; never null.
using JournalRef = std::reference_wrapper<Journal>;

}  // namespace headgauge
