#include "headgauge/journal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "base/journal_folder.hpp"
#include "base/strict_json.hpp"
#include "headgauge/files.hpp"

namespace headgauge {
namespace {

constexpr std::byte kPart{0}, kFailure{1};  // first byte of a part
constexpr const char* kState = "state/";    // follows the stage

Bytes framed(std::byte kind, std::span<const std::byte> bytes) {
  Bytes framed(bytes.size() + 1);
  framed.front() = kind;
  std::ranges::copy(bytes, framed.begin() + 1);
  return framed;
}

}  // namespace

std::vector<double> document_costs(std::span<const Index> lengths) {
  // The fixed cost of a token, in units of the cost of one visible key.
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

Journal::Journal(Role role, Share share) : role_(role), share_(share) {}

Journal::~Journal() = default;

std::unique_ptr<Journal> Journal::merge(const std::vector<std::string>& folders) {
  auto journal = std::make_unique<Journal>(Role::merge);
  journal->folder_ = std::make_unique<JournalFolder>(folders);
  journal->share_ = journal->folder_->header().share;
  return journal;
}

void Journal::open(const std::string& folder, const Identity& identity, const std::string& option,
                   const Identity& request) {
  const JournalFile::Header header{parse_json<Identity>(json_text(identity), "identity"), share_,
                                   request};
  folder_ =
      std::make_unique<JournalFolder>((std::filesystem::path(folder) / kJournalFolder).string(),
                                      header, role_ != Role::shard, option);
}

const Journal::Identity& Journal::identity() const {
  return folder_->header().identity;
}

const Journal::Identity& Journal::request() const {
  return folder_->header().request;
}

void Journal::require_identity(const Identity& identity) const {
  require_same_run("merge", parse_json<Identity>(json_text(identity), "identity"), this->identity(),
                   "merge with the same model, texts and version as the shards");
}

Journal& no_journal() {
  static Journal none(Journal::Role::none);
  return none;
}

// Stages, assignments and failures leave no_journal() unchanged, because threads share it.
Journal::Stage::Stage(Journal& journal, std::string_view name)
    : journal_(journal), length_(journal.stage_.size()) {
  if (journal_.keeps()) journal_.stage_.append(name).append("/");
}

Journal::Stage::~Stage() {
  if (journal_.keeps()) journal_.stage_.resize(length_);
}

Journal::Deal::Deal(Journal& journal)
    : journal_(journal), assigns_(journal.keeps() && !journal.dealt_.by_deal) {
  if (!assigns_) return;
  before_ = std::exchange(journal_.dealt_, {.owners = {}, .sole = Dealt::kEach, .by_deal = true});
}

Journal::Deal::Deal(Journal& journal, std::span<const double> costs) : Deal(journal) {
  if (!assigns_ || journal_.share_.count == 1) return;
  journal_.dealt_.owners = deal_documents(costs, journal_.share_.count);
}

Journal::Deal::Deal(Journal& journal, Index of) : journal_(journal), assigns_(journal.keeps()) {
  if (!assigns_) return;
  const int sole = journal_.owner(of);
  before_ = std::exchange(journal_.dealt_,
                          {.owners = {}, .sole = sole, .by_deal = journal_.dealt_.by_deal});
}

Journal::Deal::~Deal() {
  if (assigns_) journal_.dealt_ = std::move(before_);
}

int Journal::owner(Index document) const {
  const auto& [owners, sole, _] = dealt_;
  return owners.empty() ? sole : owners[static_cast<std::size_t>(document)];
}

bool Journal::computes(Index document) const {
  const int process = owner(document);
  return process == Dealt::kEach || (process == share_.index && role_ != Role::merge);
}

std::optional<Bytes> Journal::find(int layer, Index document) {
  const PartKey key{stage_, layer, document};
  const auto failed = failed_.find(key);
  if (failed != failed_.end()) throw AttentionError(failed->second);
  const std::optional<Bytes> part = folder_ != nullptr ? folder_->find(key) : std::nullopt;
  if (!part && role_ == Role::merge && !computes(document)) {
    throw BadInputError(fault("merge", fmt::format("document {} of {}", document, stage_),
                              "none in the shards", "run the shards again"));
  }
  if (!part) return std::nullopt;
  if (part->empty()) throw BadInputError("journal: expected a part, found nothing; delete it");
  const std::span<const std::byte> bytes = std::span(*part).subspan(1);
  if (part->front() == kFailure) {
    throw AttentionError({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  return Bytes(bytes.begin(), bytes.end());
}

bool Journal::computed(int layer, Index document) const {
  return folder_ != nullptr && folder_->has({stage_, layer, document});
}

void Journal::put(int layer, Index document, const Bytes& framed) {
  if (folder_ != nullptr && role_ != Role::merge) folder_->keep({stage_, layer, document}, framed);
}

void Journal::keep(int layer, Index document, const Bytes& part) {
  put(layer, document, framed(kPart, part));
}

void Journal::fail(int layer, Index document, const std::string& message) {
  if (!keeps()) return;
  failed_[{stage_, layer, document}] = message;
  put(layer, document, framed(kFailure, std::as_bytes(std::span(message))));
}

bool Journal::wants_state(std::size_t bytes) const {
  return folder_ != nullptr && role_ != Role::merge && bytes > 0 && folder_->wants_state(bytes);
}

void Journal::keep_state(int layer, Index document, std::span<const std::byte> state) {
  folder_->keep_state({stage_ + kState, layer, document}, state);
}

int Journal::state_layer(Index document) const {
  if (folder_ == nullptr) return 0;
  const auto state = folder_->last_state(stage_ + kState, document);
  return state ? state->layer : 0;
}

void Journal::read_state(Index document, std::span<std::byte> into) const {
  const auto state = folder_->last_state(stage_ + kState, document);
  state->file->read(state->place, into);
}

void Journal::flush(bool finished) {
  if (folder_ == nullptr || role_ == Role::merge) return;
  finished ? folder_->finish() : folder_->flush();
}

void Journal::flush_if_worth_it() {
  if (folder_ != nullptr && role_ != Role::merge) folder_->flush_if_worth_it();
}

bool Journal::goes_on() const {
  return folder_ != nullptr && role_ != Role::merge && !folder_->empty();
}

std::optional<Journal::Resumed> Journal::resumed(Index documents) const {
  if (!goes_on()) return std::nullopt;
  const std::string& stage = folder_->latest_stage();
  const std::map<int, Index> parts = folder_->parts_of(stage);
  if (parts.empty()) return std::nullopt;
  const auto& [last, there] = *parts.rbegin();
  const Index most =
      std::ranges::max_element(parts, {}, [](const auto& entry) { return entry.second; })->second;
  const Index whole = documents > 0 && share_.count == 1 ? documents : most;
  return Resumed{stage, there >= whole ? last + 1 : last};
}

std::string Journal::path() const {
  return folder_ != nullptr && role_ != Role::merge ? folder_->path() : "";
}

void Journal::remove() {
  if (folder_ != nullptr && role_ == Role::alone) folder_->remove();
}

}  // namespace headgauge
