// The finished parts of a run: the same run finds them when it is started again, and merge() joins
// those of several processes.
#pragma once

#include <compare>
#include <cstddef>
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

// The folder of the journals in that of the results.
inline constexpr const char* kJournalFolder = "journal";

// What one stage of a run computes of one document in one layer.
struct PartKey {
  std::string stage;  // "compare/original/"
  int layer = 0;      // -1: of no layer
  Index document = 0;
  auto operator<=>(const PartKey&) const = default;
};

// Which of several processes this one is, from 0.
struct Share {
  int index = 0;
  int count = 1;
  bool operator==(const Share&) const = default;
};

// Assigns documents of these costs to `count` processes: the costliest first, each to the process
// that has least so far, and to the first of equals. Returns the process of each document.
std::vector<int> deal_documents(std::span<const double> costs, int count);

// The cost of documents of these lengths in tokens, in units of their own.
std::vector<double> document_costs(std::span<const Index> lengths);

// A run asks for every part in turn: the journal has it, or this process computes and keeps it, or
// another shard does. Parts have the same bits whichever process computes them. One thread at a
// time may call it.
class Journal {
 public:
  // What the numbers of a run depend on: entries that are compared one by one.
  using Identity = nlohmann::ordered_json;
  enum class Role {
    alone,  // computes all parts
    shard,  // computes its share, and keeps it for merge()
    merge,  // has the shares of all
  };

  // Keeps nothing on the disk before open().
  explicit Journal(Role role = Role::alone, Share share = {});
  // Joins the shards in these folders. Throws BadInputError where one is missing, not finished,
  // there twice or of another run than the first.
  static std::unique_ptr<Journal> merge(const std::vector<std::string>& folders);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  // Reads the journals in `folder`, which need not be there, and keeps parts in one of its own,
  // which is made with the first of them; after its last whole record it is cut off. Throws
  // BadInputError where one is of another run, ResourceError where another process writes the same
  // one. Messages advise another `option`.
  // A journal holds `request` for whoever merges it.
  void open(const std::string& folder, const Identity& identity, const std::string& option,
            const Identity& request = {});
  // Of shards that are merged: what they are of. Throws BadInputError where that is another run.
  const Identity& identity() const;
  // What open() was given by the first shard.
  const Identity& request() const;
  void require_identity(const Identity& identity) const;

  // Names what follows, as long as this object lives; without a journal it does nothing.
  class Stage {
   public:
    Stage(Journal* journal, std::string_view name);
    ~Stage();
    Stage(const Stage&) = delete;
    Stage& operator=(const Stage&) = delete;

   private:
    Journal* journal_;
    std::size_t length_ = 0;
  };

  // Which process has which document.
  struct Dealt {
    static constexpr int kEach = -1;  // every process for itself
    std::vector<int> owners;          // of the documents
    int sole = kEach;                 // where `owners` are none
    bool by_deal = false;             // false: nobody dealt yet
  };
  // Deals out the documents of what follows, as long as this object lives, unless an object around
  // it did. What is not dealt out every process computes for itself.
  class Deal {
   public:
    Deal(Journal* journal, std::span<const double> costs);
    // All documents to the process that has document `of` of those dealt out around.
    Deal(Journal* journal, Index of);
    // All documents to every process.
    explicit Deal(Journal* journal);
    ~Deal();
    Deal(const Deal&) = delete;
    Deal& operator=(const Deal&) = delete;

   private:
    Journal* journal_ = nullptr;
    Dealt before_;
  };

  // Whether this process computes what it does not find of a document.
  bool computes(Index document) const;
  // Whether the results of the run are made in this process.
  bool has_results() const { return role_ != Role::shard; }
  // Whether the documents of the present stage are dealt out.
  bool is_dealt() const { return !dealt_.owners.empty() || dealt_.sole != Dealt::kEach; }
  Role role() const { return role_; }
  const Share& share() const { return share_; }

  // A part of the present stage; nothing where the journal does not have it. Throws AttentionError
  // where that was kept, BadInputError where shards that are merged lack it.
  std::optional<Bytes> find(int layer, Index document);
  // Whether a part of the present stage is there already, in a file.
  bool computed(int layer, Index document) const;
  void keep(int layer, Index document, const Bytes& part);
  // There is no such part: find() throws an AttentionError of this message.
  void fail(int layer, Index document, const std::string& message);

  // What a document was when its layers before `layer` had been run, so that a run that goes on
  // need not run them again. wants_state(): whether one of that size is worth its time by now.
  bool wants_state(std::size_t bytes) const;
  void keep_state(int layer, Index document, std::span<const std::byte> state);
  // The layer of the state that was kept of a document in the present stage; 0: none was.
  int state_layer(Index document) const;
  void read_state(Index document, std::span<std::byte> into) const;

  // Puts all that was kept on the disk; `finished`: that is the whole share.
  void flush(bool finished = false);
  // The same of a run that was stopped, unless it was too short for a journal.
  void flush_if_worth_it();
  // Whether a run before this one, which did not end, left something to be found.
  bool goes_on() const;
  // The stage and the layer that the run goes on from; nothing if no part of a layer was kept.
  // `documents`: how many the stage has, 0 if that is not known.
  struct Resumed {
    std::string stage;
    int layer = 0;
  };
  std::optional<Resumed> resumed(Index documents) const;
  // The journal of this process; empty: it keeps none.
  std::string path() const;
  // Removes the journals of a run that has ended.
  void remove();

 private:
  int owner(Index document) const;
  void put(int layer, Index document, const Bytes& framed);

  Role role_;
  Share share_;
  std::unique_ptr<JournalFolder> folder_;
  std::string stage_;
  Dealt dealt_;
  std::map<PartKey, std::string> failed_;  // by this process
};

// The journal that a process with this share keeps in `folder`.
std::string journal_path(const std::string& folder, const Share& share);

// Whether this process has all parts of the present stage: of what is dealt out the one that makes
// the results has them, of the rest each, and so has a run without a journal.
bool has_all(const Journal* journal);

}  // namespace headgauge
