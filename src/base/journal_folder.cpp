#include "base/journal_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <system_error>

#include "base/strict_json.hpp"
#include "base/temporary.hpp"
#include "headgauge/text.hpp"

namespace headgauge {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".journal";
constexpr std::string_view kStateMark = ".state-";
constexpr std::size_t kMostShown = 60;  // bytes shown of each text in which two runs differ
// Syncing takes at most a hundredth of the time between two syncs.
constexpr int kWorkPerCost = 100;
// Environment variable for the shortest time between two syncs in seconds; kPause is the default.
// Runs shorter than that write no journal.
constexpr const char* kPauseVariable = "HEADGAUGE_JOURNAL_SECONDS";
constexpr double kPause = 5;
// Assumed write speed of states before the first one is written.
constexpr double kStateBytesPerSecond = 100e6;
constexpr std::size_t kMostPending = std::size_t{256} << 20;

std::string part_name(const Share& share) {
  return fmt::format("part-{}-of-{}", share.index + 1, share.count);
}

std::chrono::steady_clock::duration shortest_pause() {
  const char* const text = std::getenv(kPauseVariable);
  const double seconds = text != nullptr && *text != '\0' ? std::atof(text) : kPause;
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::chrono::duration<double>(std::clamp(seconds, 0.0, 1e6)));
}

bool is_state(const std::string& path) {
  return fs::path(path).stem().extension().string().starts_with(kStateMark);
}

// Returns whether the name is that of a journal: part-1-of-2.journal,
// part-1-of-2.state-0-3.journal.
bool is_journal_name(std::string_view name) {
  const auto drop = [&name](std::string_view word) {
    const bool there = name.starts_with(word);
    if (there) name.remove_prefix(word.size());
    return there;
  };
  const auto drop_number = [&name] {
    const std::size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
    name.remove_prefix(digits);
    return digits > 0;
  };
  if (!drop("part-") || !drop_number() || !drop("-of-") || !drop_number()) return false;
  if (drop(kStateMark) && (!drop_number() || !drop("-") || !drop_number())) return false;
  return name == kSuffix;
}

// Returns the journals in a folder, sorted; ignores other files.
std::vector<std::string> journals_in(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code none;  // a missing folder has none
  for (const auto& entry : fs::directory_iterator(folder, none)) {
    if (is_journal_name(entry.path().filename().string())) paths.push_back(entry.path().string());
  }
  std::ranges::sort(paths);
  return paths;
}

// Removes temporary files of runs that were killed while they created a journal in the folder.
void remove_all_strays(const std::string& folder) {
  std::set<std::string> journals;
  std::error_code none;  // a missing folder has none
  for (const auto& entry : fs::directory_iterator(folder, none)) {
    const std::string name = entry.path().filename().string();
    const std::string journal = name.substr(0, name.find(kSuffix)).append(kSuffix);
    if (is_journal_name(journal)) journals.insert((fs::path(folder) / journal).string());
  }
  for (const std::string& journal : journals) remove_strays(journal);
}

// Refuses a journal folder that is a link, which could lead to the files of another user.
void require_no_link(const std::string& folder, const std::string& option) {
  std::error_code none;
  if (!fs::is_symlink(fs::symlink_status(folder, none))) return;
  throw BadInputError(fault(folder, "a folder for journals", "a link",
                            "remove the link, or choose another " + option));
}

// Returns the two values as text for a message. Lists of words are cut to the part from their first
// difference on.
std::pair<std::string, std::string> shown_apart(const Journal::Identity& a,
                                                const Journal::Identity& b) {
  if (!a.is_array() || !b.is_array()) return {describe(a), describe(b)};
  const auto [first_a, first_b] = std::ranges::mismatch(a, b);
  const auto shown = [](auto at, auto end) {
    if (at == end) return std::string("the end of the list");
    std::string words;
    for (; at != end && words.size() <= kMostShown; ++at) {
      words += (words.empty() ? "" : " ") +
               (at->is_string() ? at->template get<std::string>() : at->dump());
    }
    return in_quotes(words, kMostShown);
  };
  return {shown(first_a, a.end()), shown(first_b, b.end())};
}

}  // namespace

std::string journal_path(const std::string& folder, const Share& share) {
  return (fs::path(folder) / kJournalFolder / part_name(share)).string().append(kSuffix);
}

void require_same_run(const std::string& path, const Journal::Identity& expected,
                      const Journal::Identity& found, const std::string& advice) {
  const auto refuse = [&](const std::string& what) {
    throw BadInputError(fault(path, "a journal of the same run", what, advice));
  };
  for (const auto& [key, value] : expected.items()) {
    if (!found.contains(key)) refuse("a journal without " + key);
    if (found.at(key) != value) {
      const auto [there, here] = shown_apart(found.at(key), value);
      refuse(
          fmt::format("a journal with another value of {} ({} instead of {})", key, there, here));
    }
  }
  for (const auto& [key, value] : found.items()) {
    if (!expected.contains(key)) refuse("a journal with " + key);
  }
}

JournalFolder::JournalFolder(std::string folder, JournalFile::Header header, bool all,
                             const std::string& option)
    : folder_(std::move(folder)),
      header_(std::move(header)),
      due_(Clock::now() + shortest_pause()) {
  require_no_link(folder_, option);
  const std::string own = path();
  // If two unsharded runs write to one folder, the second keeps no journal.
  if (header_.share.count == 1 && all && JournalFile::is_being_written(own)) {
    yields_ = true;
    return;
  }
  for (const std::string& journal : journals_in(folder_)) {
    if (!all && !is_own(journal)) continue;
    read(journal);
    require_same_run(
        journal, header_.identity, files_.back()->header().identity,
        fmt::format("delete {} to start again, or choose another {}", folder_, option));
    if (journal == own) own_ = files_.back().get();
  }
  if (own_ != nullptr) own_->begin_adding();
}

JournalFolder::JournalFolder(const std::vector<std::string>& folders) {
  std::map<int, std::string> there;
  for (const std::string& folder : folders) {
    const std::string inside = (fs::path(folder) / kJournalFolder).string();
    const std::vector<std::string> journals = journals_in(inside);
    refuse_if(journals.empty(), folder, "a folder with a shard", "a folder without one",
              "name the --out of each run with --shard");
    for (const std::string& journal : journals) {
      if (!is_state(journal)) join(journal, there);
    }
  }
  refuse_if<UsageError>(files_.empty(), "merge", "folders of shards", "none",
                        "name the Run::out of each run with Run::shard");
  header_ = files_.front()->header();
  header_.share.index = 0;
  for (int shard = 0; shard < header_.share.count; ++shard) {
    if (there.contains(shard)) continue;
    throw BadInputError(fault("merge", fmt::format("all {} shards", header_.share.count),
                              fmt::format("no shard {}", shard + 1),
                              fmt::format("run it with --shard {}/{}, or name its folder",
                                          shard + 1, header_.share.count)));
  }
}

std::string JournalFolder::path() const {
  return path_with(kSuffix);
}

std::optional<Bytes> JournalFolder::find(const PartKey& key) const {
  const auto found = places_.find(key);
  if (found == places_.end()) return std::nullopt;
  return found->second.file->read(found->second.place);
}

std::map<int, Index> JournalFolder::parts_of(const std::string& stage) const {
  std::map<int, Index> parts;
  for (auto at = places_.lower_bound({stage, 0, 0});
       at != places_.end() && at->first.stage == stage; ++at) {
    ++parts[at->first.layer];
  }
  return parts;
}

void JournalFolder::keep(const PartKey& key, const Bytes& part) {
  if (yields_) return;
  pending_.emplace_back(key, part);
  pending_bytes_ += part.size();
  if (Clock::now() >= due_ || pending_bytes_ > kMostPending) flush();
}

bool JournalFolder::wants_state(std::size_t bytes) const {
  const auto cost = state_cost_.value_or(
      std::chrono::duration<double>(static_cast<double>(bytes) / kStateBytesPerSecond));
  return !yields_ && Clock::now() - state_kept_ >=
                         std::max<Clock::duration>(
                             shortest_pause(),
                             std::chrono::duration_cast<Clock::duration>(kWorkPerCost * cost));
}

void JournalFolder::keep_state(const PartKey& key, std::span<const std::byte> state) {
  flush();  // earlier parts must be on the disk before it
  const auto begin = Clock::now();
  const std::string path =
      path_with(fmt::format("{}{}-{}{}", kStateMark, key.document, key.layer, kSuffix));
  std::error_code none;  // an earlier run may have written this state
  fs::remove(path, none);
  JournalFile file(path, header_);
  file.add(key, state);
  file.sync();
  const auto before = states_.find(key.document);
  if (before != states_.end() && before->second != path) fs::remove(before->second);
  states_[key.document] = path;
  state_kept_ = Clock::now();
  state_cost_ = state_kept_ - begin;
}

std::optional<JournalFolder::State> JournalFolder::last_state(const std::string& stage,
                                                              Index document) const {
  std::optional<State> last;
  for (auto at = places_.lower_bound({stage, 0, 0});
       at != places_.end() && at->first.stage == stage; ++at) {
    if (at->first.document != document) continue;
    last = State{at->first.layer, at->second.file, at->second.place};
  }
  return last;
}

void JournalFolder::flush_if_worth_it() {
  if (own_ != nullptr || Clock::now() >= due_) flush();
}

void JournalFolder::flush() {
  if (pending_.empty()) return;
  const auto begin = Clock::now();
  make();
  if (yields_) return;
  for (const auto& [key, part] : pending_) own_->add(key, part);
  pending_.clear();
  pending_bytes_ = 0;
  own_->sync();
  const auto end = Clock::now();
  due_ = end + std::max<Clock::duration>(shortest_pause(), kWorkPerCost * (end - begin));
}

void JournalFolder::finish() {
  flush();
  for (const auto& [document, path] : states_) fs::remove(path);
  states_.clear();
  if (own_ != nullptr && own_->finished()) return;
  make();
  own_->finish();
  own_->sync();
}

void JournalFolder::remove() {
  if (yields_) return;
  pending_.clear();
  states_.clear();
  remove_all_strays(folder_);
  bool removed = false;
  for (const std::string& journal : journals_in(folder_)) {
    if (!is_of_this_run(journal)) continue;
    std::error_code none;  // a journal that remains is checked by the next run
    removed = fs::remove(journal, none) || removed;
  }
  std::error_code none;
  if (removed) fs::remove(folder_, none);  // fails if the folder has other files
}

bool JournalFolder::is_of_this_run(const std::string& path) const {
  std::error_code none;
  if (!fs::is_regular_file(fs::symlink_status(path, none))) return false;
  // Another unsharded run may keep its journal here and remove it.
  const bool alone = header_.share.count == 1;
  const bool own = own_ != nullptr && path == own_->path();
  if (alone && !own && JournalFile::is_being_written(path)) return false;
  try {
    return JournalFile(path).header().identity == header_.identity;
  } catch (const Error&) {
    return false;
  }
}

std::string JournalFolder::path_with(std::string_view suffix) const {
  return (fs::path(folder_) / part_name(header_.share)).string().append(suffix);
}

bool JournalFolder::is_own(const std::string& path) const {
  return fs::path(path).filename().string().starts_with(part_name(header_.share) + ".");
}

void JournalFolder::make() {
  if (own_ != nullptr || yields_) return;
  auto made = std::make_unique<JournalFile>(path(), header_);
  if (!made->is_new() && header_.share.count == 1) {
    yields_ = true;
    pending_.clear();
    return;
  }
  if (!made->is_new()) made->refuse_to_share();
  files_.push_back(std::move(made));
  own_ = files_.back().get();
}

void JournalFolder::read(const std::string& path) {
  files_.push_back(std::make_unique<JournalFile>(path));
  JournalFile* const file = files_.back().get();
  file->each([&](const PartKey& key, JournalFile::Place place) {
    if (is_state(path) && is_own(path)) states_[key.document] = path;
    if (!is_state(path) && key.layer >= 0) latest_stage_ = key.stage;
    places_.insert_or_assign(key, Found{file, place});
  });
}

void JournalFolder::join(const std::string& path, std::map<int, std::string>& there) {
  read(path);
  const JournalFile& file = *files_.back();
  const Share& share = file.header().share;
  const Share& first = files_.front()->header().share;
  refuse_if(share.count != first.count, path,
            fmt::format("a shard of a run with {} shards", first.count),
            fmt::format("a shard of a run with {}", share.count), "merge the shards of one run");
  require_same_run(path, files_.front()->header().identity, file.header().identity,
                   "merge shards of the same command, model, texts and version");
  const auto [before, is_new] = there.emplace(share.index, path);
  refuse_if(!is_new, path, "each shard once",
            fmt::format("shard {} also in {}", share.index + 1, before->second),
            "name one of the two folders");
  refuse_if(
      !file.finished(), path, "a finished shard", "an unfinished shard",
      fmt::format("run it again with --shard {}/{}: it resumes", share.index + 1, share.count));
}

}  // namespace headgauge
