#include "base/saved_state.hpp"

#include <filesystem>
#include <stdexcept>
#include <utility>

#include "base/file.hpp"
#include "base/strict_json.hpp"
#include "headgauge/base.hpp"
#include "headgauge/files.hpp"

namespace headgauge {
namespace {

constexpr const char* kSum = "sha256";

// Computes the checksum of the text without its checksum. Numbers are written with as many digits
// as they need, so that reading and writing gives the same text.
std::string sum_of(const SavedState::Json& document) {
  return text_sha256(json_text(document));
}

std::string advice_for(const std::string& path, const std::string& option) {
  return "delete " + path + " to start again, or choose another " + option;
}

}  // namespace

SavedState::SavedState(std::string path, std::string schema, std::string what, std::string option,
                       const Json& identity)
    : path_(std::move(path)),
      schema_(std::move(schema)),
      what_(std::move(what)),
      option_(std::move(option)),
      // Stores the identity as it will be read back: file names need not be UTF-8.
      identity_(parse_json<Json>(json_text(identity), what_)) {}

void SavedState::refuse(const std::string& expected, const std::string& found) const {
  throw BadInputError(fault(path_, expected, found, advice_for(path_, option_)));
}

bool SavedState::load(const std::function<void(const Json&)>& take) const {
  std::error_code none;  // load() reports errors when it opens the file
  if (path_.empty() || !std::filesystem::exists(path_, none)) return false;
  auto json =
      parse_json_object<Json>(read_file(path_, kLargestResults), path_, advice_for(path_, option_));
  try {
    const Json schema = json.value("schema", Json());
    if (!schema.is_string() || !schema.get_ref<const std::string&>().starts_with("headgauge.")) {
      throw BadInputError(fault(path_, what_, "a file that headgauge did not write",
                                "move it elsewhere, or choose another " + option_));
    }
    if (schema != schema_) {
      refuse(what_ + ", " + schema_, describe(schema));
    }
    const std::string sum = json.at(kSum);
    json.erase(kSum);
    if (sum != sum_of(json)) refuse(what_ + " as it was saved", "a changed or damaged one");
    const Json& found = json.at("identity");
    for (const auto& [key, value] : identity_.items()) {
      if (found.contains(key) && found.at(key) == value) continue;
      refuse("an unfinished run of the same settings", "a run with another value of " + key);
    }
    if (found.size() != identity_.size()) {
      refuse("an unfinished run of the same settings", "a run with more settings");
    }
    take(json.at("finished"));
  } catch (const nlohmann::json::exception&) {
    refuse(what_, "something else");
  } catch (const std::out_of_range&) {
    refuse(what_, "something else");
  }
  return true;
}

std::string SavedState::text(const Json& finished) const {
  Json json = {{"schema", schema_}, {"identity", identity_}, {"finished", finished}};
  json[kSum] = sum_of(json);
  return json_text(json) + "\n";
}

void SavedState::save(const Json& finished) const {
  if (kept()) write_atomically(path_, text(finished));
}

}  // namespace headgauge
