#include "session/running.hpp"

#include <bit>
#include <charconv>
#include <filesystem>
#include <utility>

#include "base/strict_json.hpp"
#include "headgauge/catalogue.hpp"
#include "headgauge/files.hpp"
#include "headgauge/kernels.hpp"
#include "headgauge/results_folder.hpp"
#include "headgauge/text.hpp"

namespace headgauge {
namespace {

RunObserver& nobody() {
  static RunObserver none;
  return none;
}

// Returns the files that an option names; nothing for an option that names none.
std::optional<Texts> files_of(const Option& option) {
  if (const auto* const texts = std::get_if<Texts*>(&option.value)) return **texts;
  if (!option.names_files) return std::nullopt;
  if (const auto* const one = std::get_if<std::string*>(&option.value)) {
    return (*one)->empty() ? Texts() : text_files({**one});
  }
  return text_files(*std::get<std::vector<std::string>*>(option.value));
}

// Returns the checksums of files, because the results depend on the contents and not on the names.
nlohmann::ordered_json identity_value(const Option& option) {
  const std::optional<Texts> files = files_of(option);
  if (!files) return option_setting(option);
  nlohmann::ordered_json sums = nlohmann::ordered_json::array();
  for (const Text& text : *files) sums.push_back(text.sha256());
  return sums;
}

// Adds the tokenizer's files in its folder; a tokenizer inside the checkpoint file is covered by
// the weights.
void add_tokenizer(const Model& model, Journal::Identity& identity) {
  const std::filesystem::path folder = model.tokenizer_path();
  if (folder.empty()) return;
  for (const char* name :
       {"tokenizer.json", "vocab.json", "vocab.txt", "merges.txt", "tokenizer_config.json",
        "added_tokens.json", "special_tokens_map.json"}) {
    const Texts file = text_files({(folder / name).string()});
    const std::string sum = file.front().sha256();
    if (!sum.empty()) identity[name] = sum;
  }
}

Journal::Identity identity_of(const RunRecord& record, const Results& described) {
  Journal::Identity identity = {{"command", record.experiment}};
  for (const Option& option : record.options) {
    if (option.decides) identity["--" + option.name()] = identity_value(option);
  }
  const nlohmann::ordered_json texts = to_json(described.text);
  for (const auto& [key, value] : texts.items()) {
    if (key == "names") continue;
    auto& kept = identity["texts: " + key] = value;
    if (key != "tasks") continue;
    for (auto& task : kept) task.erase("name");
  }
  const ModelRecord& model = described.model;
  if (!model.config_sha256.empty()) identity["config_sha256"] = model.config_sha256;
  if (!model.weights_sha256.empty()) identity["weights_sha256"] = model.weights_sha256;
  if (model.weights_sha256.empty()) identity["model"] = to_json(model);
  add_tokenizer(record.model, identity);
  return identity;
}

nlohmann::ordered_json request_of(const RunRecord& record) {
  nlohmann::ordered_json options;
  for (const Option& option : record.asked) {
    if (option.decides) options[option.key()] = option_setting(option);
  }
  nlohmann::ordered_json texts = nlohmann::ordered_json::array();
  for (const Text& text : record.texts) texts.push_back({text.name, text.is_ids});
  return {{"experiment", record.experiment},
          {"model", record.model.name()},
          {"texts", texts},
          {"asked", options}};
}

// Returns the files and folders that a run may write into its folder `out`.
std::vector<std::string> names_written(const std::string& experiment, const std::string& out) {
  std::vector<std::string> names = kResultsNames;
  if (experiment == "plan") {
    names.insert(names.end(), {"plan.json", "hf", "hf-layers"});
    for (const auto& entry : std::filesystem::directory_iterator(out)) {  // plan_25.json, ...
      const std::string name = entry.path().filename().string();
      if (name.starts_with("plan_") && name.ends_with(".json")) names.push_back(name);
    }
  } else if (experiment == "reproduce tokens") {
    for (const Experiment& one : experiments()) names.push_back(one.name);
  }
  return names;
}

}  // namespace

Share parse_share(const std::string& text) {
  Share share;
  const char* const end = text.data() + text.size();
  const auto [slash, error] = std::from_chars(text.data(), end, share.index);
  const bool has_slash = error == std::errc{} && slash != end && *slash == '/';
  const auto number = has_slash ? std::from_chars(slash + 1, end, share.count)
                                : std::from_chars_result{end, std::errc::invalid_argument};
  if (number.ec != std::errc{} || number.ptr != end || share.index < 1 ||
      share.index > share.count) {
    throw UsageError(fault("Run::shard", "I/N, I from 1 to N", "\"" + text + "\"",
                           "such as 2/8 for the second of eight"));
  }
  --share.index;
  return share;
}

Running::Running(Run run, std::shared_ptr<Journal> merged)
    : run_(std::move(run)),
      observer_(run_.observer != nullptr ? run_.observer : &nobody()),
      merged_(std::move(merged)) {
  if (!run_.out.empty()) folder_.emplace(run_.out);
}

void Running::require_no_shard(const std::string& experiment) const {
  if (!run_.shard) return;
  throw UnsupportedError(fault("Run::shard", "scan, compare, converge or validate", experiment,
                               "measure in one process"));
}

std::string request_digest(const nlohmann::ordered_json& asked) {
  return text_sha256(json_text(asked));
}

std::vector<std::string> files_read(const Model& model, const Texts& texts,
                                    const std::vector<Option>& options) {
  std::vector<std::string> files = model.files();
  const auto add = [&](const Texts& more) {
    for (const Text& text : more) {
      if (text.is_file()) files.push_back(text.name);
    }
  };
  add(texts);
  for (const Option& option : options) add(files_of(option).value_or(Texts()));
  return files;
}

void Running::claim(const RunRecord& record, const Results& described) {
  if (!folder_ || !request_.empty()) return;
  require_unread(run_.out, files_read(record.model, record.texts, record.options),
                 names_written(record.experiment, run_.out));
  if (run_.shard) return;
  request_ = request_digest(identity_of(record, described));
  if (!run_.force) require_request(request_, run_.out);
}

Journal& Running::open_journal(const RunRecord& record, const Results& described) {
  if (!record.has_shards) require_no_shard(record.experiment);
  claim(record, described);
  if (record.has_own || !record.model.has_name()) {
    if (!run_.shard && merged_ == nullptr) return no_journal();
    throw record.has_own
        ? UnsupportedError(fault("Run::shard", "measures, normalizers and patterns by name",
                                 "some of the program's own", "measure in one process"))
        : UnsupportedError(fault("Run::shard", "a checkpoint, which other processes can open, too",
                                 "a model that is loaded here", "save it and give its folder"));
  }
  if (merged_ == nullptr && run_.out.empty()) {
    if (!run_.shard) return no_journal();
    throw UsageError(fault("Run::shard", "Run::out = DIR, where the shard is kept", "no Run::out",
                           "add Run::out = DIR"));
  }
  Journal::Identity identity = identity_of(record, described);
  identity["version of headgauge"] = HEADGAUGE_VERSION;
  // Sums over rows differ in their last bits between instruction sets.
  identity["HEADGAUGE_SIMD"] = simd_level();
  // Parts are copies of numbers in memory.
  identity["byte order"] = std::endian::native == std::endian::little ? "little" : "big";
  if (merged_ != nullptr) {
    merged_->require_identity(identity);
    return journal_ = *merged_;
  }
  own_ = run_.shard ? std::make_unique<Journal>(Journal::Role::shard, *run_.shard)
                    : std::make_unique<Journal>();
  own_->open(run_.out, identity, "Run::out", request_of(record));
  return journal_ = *own_;
}

void Running::start(const HeadSource* source) {
  if (journal().goes_on()) {
    const auto [layers, documents] =
        source == nullptr
            ? std::pair<Index, Index>()
            : std::pair<Index, Index>(source->info().layers, std::ssize(source->info().documents));
    const auto from = journal().resumed(documents);
    const bool known = from && layers > 0 && from->stage.substr(from->stage.find('/') + 1).empty();
    observer_->resumed(resumption_line(journal(), layers, documents),
                       known ? static_cast<double>(from->layer) / static_cast<double>(layers) : 0);
  }
  observer_->opened(source);
}

bool Running::may_go_away(const Error& error) {
  return error.kind() == ErrorKind::resource || error.kind() == ErrorKind::interrupted ||
         dynamic_cast<const DamagedPartError*>(&error) != nullptr;
}

void Running::save(Results& results, const std::function<void()>& save_more) {
  observer_->measured();
  results.request = request_;
  const bool finished_any = has_results() && !(results.partial && finished_part(results).empty());
  measure([&] {
    if (finished_any && folder_) folder_->save(results);
    save_more();
  });
  if (results.partial) {
    keep();
    return;
  }
  if (journal().role() == Journal::Role::shard) journal().flush(true);
  journal().remove();
}

void Running::keep() noexcept {
  try {
    journal().flush_if_worth_it();
  } catch (const Error&) {
    // Report the error that ended the run; the journal keeps what it has.
  }
}
}  // namespace headgauge
