#include "headgauge/journal.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <numeric>
#include <system_error>

#include "base/journal_file.hpp"
#include "base/strict_json.hpp"

namespace headgauge {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr const char* kSuffix = ".journal";
constexpr std::byte kPart{0}, kFailure{1};  // what a part begins with
// What is put on the disk at once takes no more than a hundredth of the time in between.
constexpr int kWorkPerCost = 100;
constexpr auto kShortestPause = std::chrono::milliseconds(250);
constexpr std::size_t kMostPending = std::size_t{256} << 20;

std::string file_name(const Share& share) {
  return fmt::format("part-{}-of-{}{}", share.index + 1, share.count, kSuffix);
}

std::vector<std::string> journals_in(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code none;  // a folder that is not there holds none
  for (const auto& entry : fs::directory_iterator(folder, none)) {
    if (entry.path().extension() == kSuffix) paths.push_back(entry.path().string());
  }
  std::ranges::sort(paths);
  return paths;
}

Bytes framed(std::byte kind, std::span<const std::byte> bytes) {
  Bytes framed(bytes.size() + 1);
  framed.front() = kind;
  std::ranges::copy(bytes, framed.begin() + 1);
  return framed;
}

// Throws BadInputError that names the first entry in which they differ.
void require_same(const std::string& path, const Journal::Identity& expected,
                  const Journal::Identity& found, const std::string& advice) {
  const auto refuse = [&](const std::string& what) {
    throw BadInputError(fault(path, "a journal of the same run", what, advice));
  };
  for (const auto& [key, value] : expected.items()) {
    if (!found.contains(key)) refuse("one without " + key);
    if (found.at(key) != value) {
      refuse(fmt::format("one with another {} ({} and not {})", key, describe(found.at(key)),
                         describe(value)));
    }
  }
  for (const auto& [key, value] : found.items()) {
    if (!expected.contains(key)) refuse("one with " + key);
  }
}

}  // namespace

std::vector<double> document_costs(std::span<const Index> lengths) {
  // What is done for each token, and for each of the tokens that it sees.
  constexpr double kKeysPerToken = 4096;
  std::vector<double> costs;
  for (const Index length : lengths) {
    const auto tokens = static_cast<double>(length);
    costs.push_back(tokens * (kKeysPerToken + tokens));
  }
  return costs;
}

std::vector<int> deal_documents(std::span<const double> costs, int count) {
  std::vector<std::size_t> order(costs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order,
                           [&](std::size_t a, std::size_t b) { return costs[a] > costs[b]; });
  std::vector<double> sums(static_cast<std::size_t>(count));
  std::vector<int> owners(costs.size());
  for (const std::size_t document : order) {
    const auto least = std::ranges::min_element(sums);
    *least += costs[document];
    owners[document] = static_cast<int>(least - sums.begin());
  }
  return owners;
}

// The journals that a process reads, and the one that it writes.
class JournalFolder {
 public:
  // Of a run that goes on.
  JournalFolder(std::string folder, const Journal::Identity& identity, const Share& share,
                const std::string& option)
      : folder_(std::move(folder)), header_{identity, share} {
    const std::string own = path();
    for (const std::string& journal : journals_in(folder_)) {
      read(journal);
      require_same(journal, identity, files_.back()->header().identity,
                   fmt::format("delete {} to start again, or choose another {}", folder_, option));
      if (journal == own) own_ = files_.back().get();
    }
    if (own_ != nullptr) own_->begin_adding();
  }

  // Of shards.
  explicit JournalFolder(const std::vector<std::string>& folders) {
    std::map<int, std::string> there;
    for (const std::string& folder : folders) {
      const std::string inside = (fs::path(folder) / kJournalFolder).string();
      const std::vector<std::string> journals = journals_in(inside);
      if (journals.empty()) {
        throw BadInputError(fault(folder, "a folder with a shard", "none in it",
                                  "name the --out of each run with --shard"));
      }
      for (const std::string& journal : journals) join(journal, there);
    }
    header_ = {files_.front()->header().identity, {0, files_.front()->header().share.count}};
    for (int shard = 0; shard < header_.share.count; ++shard) {
      if (there.contains(shard)) continue;
      throw BadInputError(fault("merge", fmt::format("all {} shards", header_.share.count),
                                fmt::format("no shard {}", shard + 1),
                                fmt::format("run it with --shard {}/{}, or name its folder",
                                            shard + 1, header_.share.count)));
    }
  }

  const JournalFile::Header& header() const { return header_; }
  std::string path() const { return (fs::path(folder_) / file_name(header_.share)).string(); }
  bool empty() const { return places_.empty(); }

  bool has(const PartKey& key) const { return places_.contains(key); }
  std::optional<Bytes> find(const PartKey& key) const {
    const auto found = places_.find(key);
    if (found == places_.end()) return std::nullopt;
    return found->second.first->read(found->second.second);
  }

  void keep(const PartKey& key, const Bytes& part) {
    pending_.emplace_back(key, part);
    pending_bytes_ += part.size();
    if (Clock::now() >= due_ || pending_bytes_ > kMostPending) flush();
  }

  void flush() {
    if (pending_.empty()) return;
    const auto begin = Clock::now();
    make();
    for (const auto& [key, part] : pending_) own_->add(key, part);
    pending_.clear();
    pending_bytes_ = 0;
    own_->sync();
    const auto end = Clock::now();
    due_ = end + std::max<Clock::duration>(kShortestPause, kWorkPerCost * (end - begin));
  }

  void finish() {
    flush();
    make();
    own_->finish();
    own_->sync();
  }

  void remove() {
    pending_.clear();
    std::error_code none;  // a journal that stays is refused or taken up, as what it is
    for (const std::string& journal : journals_in(folder_)) fs::remove(journal, none);
    fs::remove(folder_, none);  // unless something else is in it
  }

 private:
  void make() {
    if (own_ != nullptr) return;
    files_.push_back(std::make_unique<JournalFile>(path(), header_));
    own_ = files_.back().get();
    own_->begin_adding();
  }

  void read(const std::string& path) {
    files_.push_back(std::make_unique<JournalFile>(path));
    JournalFile* const file = files_.back().get();
    file->each([&](const PartKey& key, JournalFile::Place place) {
      places_.insert_or_assign(key, std::pair(file, place));
    });
  }

  void join(const std::string& path, std::map<int, std::string>& there) {
    read(path);
    const JournalFile& file = *files_.back();
    const Share& share = file.header().share;
    const Share& first = files_.front()->header().share;
    if (share.count != first.count) {
      throw BadInputError(fault(path, fmt::format("one of {} shards", first.count),
                                fmt::format("one of {}", share.count),
                                "merge the shards of one run"));
    }
    require_same(path, files_.front()->header().identity, file.header().identity,
                 "merge shards of the same command, model, texts and version");
    const auto [before, is_new] = there.emplace(share.index, path);
    if (!is_new) {
      throw BadInputError(fault(path, "each shard once",
                                fmt::format("shard {} in {} too", share.index + 1, before->second),
                                "name one of the two folders"));
    }
    if (!file.finished()) {
      throw BadInputError(fault(path, "a shard that is finished", "one that is not",
                                fmt::format("run it again with --shard {}/{}: it goes on",
                                            share.index + 1, share.count)));
    }
  }

  std::string folder_;
  JournalFile::Header header_;
  std::vector<std::unique_ptr<JournalFile>> files_;
  JournalFile* own_ = nullptr;
  std::map<PartKey, std::pair<const JournalFile*, JournalFile::Place>> places_;
  std::vector<std::pair<PartKey, Bytes>> pending_;
  std::size_t pending_bytes_ = 0;
  Clock::time_point due_ = Clock::now() + kShortestPause;
};

Journal::Journal(Role role, Share share, std::unique_ptr<PartExchange> exchange)
    : role_(role), share_(share), exchange_(std::move(exchange)) {}

Journal::~Journal() = default;

std::unique_ptr<Journal> Journal::merge(const std::vector<std::string>& folders) {
  auto journal = std::make_unique<Journal>(Role::merge);
  journal->folder_ = std::make_unique<JournalFolder>(folders);
  journal->share_ = journal->folder_->header().share;
  return journal;
}

void Journal::open(const std::string& folder, const Identity& identity, const std::string& option) {
  folder_ = std::make_unique<JournalFolder>((fs::path(folder) / kJournalFolder).string(),
                                            parse_json<Identity>(json_text(identity), "identity"),
                                            share_, option);
}

const Journal::Identity& Journal::identity() const {
  return folder_->header().identity;
}

void Journal::require_identity(const Identity& identity) const {
  require_same("merge", parse_json<Identity>(json_text(identity), "identity"), this->identity(),
               "merge with the model, the texts and the version of the shards");
}

Journal::Stage::Stage(Journal* journal, std::string_view name) : journal_(journal) {
  if (journal_ == nullptr) return;
  length_ = journal_->stage_.size();
  journal_->stage_ += name;
  journal_->stage_ += '/';
}

Journal::Stage::~Stage() {
  if (journal_ != nullptr) journal_->stage_.resize(length_);
}

Journal::Deal::Deal(Journal* journal)
    : journal_(journal != nullptr && !journal->dealt_ ? journal : nullptr) {
  if (journal_ == nullptr) return;
  before_ = journal_->owners_;
  sole_before_ = journal_->sole_;
  dealt_before_ = journal_->dealt_;
  journal_->owners_.clear();
  journal_->sole_ = kEach;
  journal_->dealt_ = true;
}

Journal::Deal::Deal(Journal* journal, std::span<const double> costs) : Deal(journal) {
  if (journal_ == nullptr || journal_->share_.count == 1) return;
  journal_->owners_ = deal_documents(costs, journal_->share_.count);
}

Journal::Deal::Deal(Journal* journal, Index of) : journal_(journal) {
  if (journal_ == nullptr) return;
  before_ = journal_->owners_;
  sole_before_ = journal_->sole_;
  dealt_before_ = journal_->dealt_;
  journal_->sole_ = journal_->owner(of);
  journal_->owners_.clear();
}

Journal::Deal::~Deal() {
  if (journal_ == nullptr) return;
  journal_->owners_ = std::move(before_);
  journal_->sole_ = sole_before_;
  journal_->dealt_ = dealt_before_;
}

int Journal::owner(Index document) const {
  return owners_.empty() ? sole_ : owners_[static_cast<std::size_t>(document)];
}

bool Journal::computes(Index document) const {
  const int process = owner(document);
  return process == kEach || (process == share_.index && role_ != Role::merge);
}

std::optional<Bytes> Journal::find(int layer, Index document) {
  const PartKey key{stage_, layer, document};
  std::optional<Bytes> part = folder_ != nullptr ? folder_->find(key) : std::nullopt;
  if (!part && !computes(document)) {
    if (role_ == Role::merge) {
      throw BadInputError(fault("merge", fmt::format("document {} of {}", document, stage_),
                                "none in the shards", "run the shards again"));
    }
    if (role_ != Role::first) return std::nullopt;
    auto here = received_.find(key);
    while (here == received_.end()) {
      received_.insert(exchange_->receive(owner(document)));
      here = received_.find(key);
    }
    part = std::move(here->second);
    received_.erase(here);
  }
  if (!part) return std::nullopt;
  if (part->empty()) throw BadInputError("journal: expected a part, found nothing; delete it");
  // The first process may not have found it.
  if (role_ == Role::other && owner(document) == share_.index) exchange_->send(key, *part);
  const std::span<const std::byte> bytes = std::span(*part).subspan(1);
  if (part->front() == kFailure) {
    throw AttentionError({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  return Bytes(bytes.begin(), bytes.end());
}

bool Journal::computed(int layer, Index document) const {
  return folder_ != nullptr && folder_->has({stage_, layer, document});
}

bool Journal::has_all() const {
  return has_results() || (owners_.empty() && sole_ == kEach);
}

void Journal::put(int layer, Index document, const Bytes& framed) {
  const PartKey key{stage_, layer, document};
  if (folder_ != nullptr) folder_->keep(key, framed);
  if (role_ == Role::other && owner(document) != kEach) exchange_->send(key, framed);
}

void Journal::keep(int layer, Index document, const Bytes& part) {
  put(layer, document, framed(kPart, part));
}

void Journal::fail(int layer, Index document, const std::string& message) {
  put(layer, document, framed(kFailure, std::as_bytes(std::span(message))));
}

void Journal::flush(bool finished) {
  if (folder_ == nullptr || role_ == Role::merge) return;
  finished ? folder_->finish() : folder_->flush();
}

bool Journal::goes_on() const {
  return folder_ != nullptr && role_ != Role::merge && !folder_->empty();
}

std::string Journal::path() const {
  return folder_ != nullptr && role_ != Role::merge ? folder_->path() : "";
}

void Journal::remove() {
  if (folder_ != nullptr && role_ == Role::first) folder_->remove();
}

}  // namespace headgauge
