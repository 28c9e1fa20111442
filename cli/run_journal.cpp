#include "cli/run_journal.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <charconv>
#include <filesystem>
#include <functional>

#include "cli/host.hpp"
#include "cli/present_command.hpp"
#include "headgauge/checkpoint.hpp"
#include "headgauge/files.hpp"
#include "headgauge/kernels.hpp"
#include "headgauge/text.hpp"

namespace headgauge::cli {
namespace {

thread_local Journal* the_merged = nullptr;

// Files whose text decides beside those that are measured.
constexpr const char* kFurtherFiles[] = {"--plan", "--fit", "--confirm"};

// Of a file, or of what a program gives in its place; empty where there is none.
std::string sum_of(const std::string& path) {
  if (const Host* const program = host(); program != nullptr) {
    if (const auto text = program->texts.find(path); text != program->texts.end()) {
      return text_sha256(text->second);
    }
    if (const auto ids = program->tokens.find(path); ids != program->tokens.end()) {
      return text_sha256(fmt::format("{}", fmt::join(ids->second, " ")));
    }
  }
  std::error_code none;  // what is no file is said where it is read
  return std::filesystem::is_regular_file(path, none) ? file_sha256(path) : "";
}

Journal::Identity identity_of(const Results& described) {
  Journal::Identity identity = as_json(present_command());
  for (const char* option : kFurtherFiles) {
    if (!identity.contains(option)) continue;
    const auto files = identity[option].get<std::vector<std::string>>();
    for (const std::string& path : files) {
      const std::string sum = sum_of(path);
      if (!sum.empty()) identity[fmt::format("text of {}", path)] = sum;
    }
  }
  if (identity.contains("MODEL") && described.model.contains("config_sha256")) {
    const std::filesystem::path folder =
        resolve_model(identity["MODEL"].at(0).get<std::string>()).tokenizer();
    for (const char* name :
         {"tokenizer.json", "vocab.json", "vocab.txt", "merges.txt", "tokenizer_config.json"}) {
      const std::string sum = sum_of((folder / name).string());
      if (!sum.empty()) identity[name] = sum;
    }
  }
  for (const auto& [key, value] : described.text.items()) identity["texts: " + key] = value;
  for (const char* key : {"config_sha256", "weights_sha256"}) {
    identity[key] = described.model.value(key, "");
  }
  identity["version of headgauge"] = HEADGAUGE_VERSION;
  // Sums of rows differ in their last bits from one instruction set to another.
  identity["HEADGAUGE_SIMD"] = simd_level();
  // Parts are the bytes of numbers as they stand in memory.
  identity["byte order"] = std::endian::native == std::endian::little ? "little" : "big";
  return identity;
}

}  // namespace

Option shard_option(std::string& shard) {
  return {.member = "RunOptions::shard",
          .value = &shard,
          .form = "I/N",
          .group = option_group::output,
          .help = "Compute share I of N of the documents, into --out, for headgauge merge",
          .details = "See [scale.md](scale.md)",
          .expects = "I/N",
          .decides = false};
}

Share parse_shard(const std::string& text) {
  Share share;
  const char* const end = text.data() + text.size();
  const auto [slash, error] = std::from_chars(text.data(), end, share.index);
  const bool has_slash = error == std::errc{} && slash != end && *slash == '/';
  const auto number = has_slash ? std::from_chars(slash + 1, end, share.count)
                                : std::from_chars_result{end, std::errc::invalid_argument};
  if (number.ec != std::errc{} || number.ptr != end || share.index < 1 ||
      share.index > share.count) {
    throw UsageError(fault("--shard", "I/N, I from 1 to N", "\"" + text + "\"",
                           "such as --shard 2/8 for the second of eight"));
  }
  --share.index;
  return share;
}

bool is_in_part(const std::string& shard) {
  return the_merged != nullptr || !shard.empty();
}

RunJournal::RunJournal(const std::string& out, const std::string& shard, const Results& described) {
  const Journal::Identity identity = identity_of(described);
  if (the_merged != nullptr) {
    the_merged->require_identity(identity);
    journal_ = the_merged;
    return;
  }
  if (!shard.empty()) {
    if (out.empty()) {
      throw UsageError(
          fault("--shard", "--out DIR, where the shard is kept", "no --out", "add --out DIR"));
    }
    own_ = std::make_unique<Journal>(Journal::Role::shard, parse_shard(shard));
  } else if (!out.empty()) {
    own_ = std::make_unique<Journal>();
  }
  journal_ = own_.get();
  if (journal_ != nullptr) journal_->open(out, identity, "--out");
}

std::string RunJournal::advice() const {
  if (own_ == nullptr || own_->path().empty()) return "";
  std::error_code none;
  return std::filesystem::exists(own_->path(), none) ? "; run the same command again to go on" : "";
}

std::string RunJournal::resumption(Index layers, Index documents) const {
  if (own_ == nullptr || !own_->goes_on()) return "";
  const auto from = own_->resumed(documents);
  if (!from) return fmt::format("going on with what {} holds", own_->path());
  // Behind the command; "1 ssmax/" is the first intervention.
  std::string stage = from->stage.substr(from->stage.find('/') + 1);
  if (stage.ends_with('/')) stage.pop_back();
  return fmt::format("going on {}{}",
                     layers == 0 ? fmt::format("from layer {}", from->layer)
                     : from->layer < layers
                         ? fmt::format("from layer {} of {}", from->layer, layers)
                         : fmt::format("behind all {} layers", layers),
                     stage.empty() ? "" : fmt::format(" ({})", legible(stage)));
}

std::string RunJournal::shard_line(const std::string& out) const {
  return fmt::format(
      "Written: {}\nWith the folders of all {} shards: headgauge merge {} ... --out RESULTS\n",
      own_->path(), own_->share().count, out);
}

void RunJournal::finish() {
  if (own_ == nullptr) return;
  if (own_->role() == Journal::Role::shard) own_->flush(true);
  own_->remove();
}

void RunJournal::keep() noexcept {
  try {
    if (own_ != nullptr) own_->flush_if_worth_it();
  } catch (const Error&) {
    // What is told is why it ends; the journal holds what it held.
  }
}

void RunJournal::discard() noexcept {
  if (own_ != nullptr) own_->remove();
}

Merging::Merging(Journal& journal) {
  the_merged = &journal;
}

Merging::~Merging() {
  the_merged = nullptr;
}

}  // namespace headgauge::cli
