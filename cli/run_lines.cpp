#include "cli/run_lines.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/table_style.hpp"
#include "headgauge/results_folder.hpp"
#include "headgauge/text.hpp"

namespace headgauge::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string plain(const Json& json) {
  if (json.is_string()) return json.get<std::string>();
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string text_at(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it == object.end() ? "" : plain(*it);
}

}  // namespace

std::vector<Results> read_runs(std::string& path) {
  const std::vector<std::string> files = results_files(path);
  if (files.size() == 1) path = files.front();
  std::vector<Results> runs;
  for (const std::string& file : files) runs.push_back(read_results(file));
  return runs;
}

std::string run_text(const Json& run) {
  std::string text = shortened(text_at(run, "file"), kTableWidth) + ":";
  const std::string command = text_at(run, "command"), model = text_at(run, "model");
  text += " " + (command.empty() ? "a run" : shortened(command, kTableWidth));
  if (!model.empty()) text += " of " + shortened(model, kTableWidth);
  const auto names = run.find("text");
  if (names == run.end() || !names->is_array() || names->empty()) return text;
  text += " on " + shortened(plain(names->front()), kTableWidth);
  if (names->size() > 1) text += fmt::format(" and {} more", names->size() - 1);
  return text;
}

std::string settings_text(const std::vector<Json>& runs) {
  constexpr std::size_t kLongest = 40;
  std::vector<std::string> keys;
  for (const Json& settings : runs) {
    for (const auto& [key, value] : settings.items()) {
      if (std::ranges::find(keys, key) == keys.end()) keys.push_back(key);
    }
  }
  std::vector<std::string> parts;
  for (const std::string& key : keys) {
    std::vector<std::string> values;
    for (const Json& settings : runs) {
      values.push_back(
          shortened(settings.contains(key) ? plain(settings.at(key)) : "none", kLongest));
    }
    parts.push_back(fmt::format("{}: {}", legible(key), fmt::join(values, " -> ")));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace headgauge::cli
