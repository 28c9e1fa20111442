#include "cli/run_lines.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "headgauge/results_folder.hpp"
#include "headgauge/text.hpp"

namespace headgauge::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string plain(const Json& json) {
  if (json.is_string()) return json.get<std::string>();
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Returns the value of a key as text; empty if it is null or missing, as it may be in a file.
std::string text_of(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it == object.end() || it->is_null() ? "" : plain(*it);
}

// Example: "a/results.json: scan of gpt2 on book.txt".
std::string run_text(const Json& run) {
  std::string text = shortened(text_of(run, "file"), kTableWidth) + ":";
  const std::string command = text_of(run, "command"), model = text_of(run, "model");
  text += " " + (command.empty() ? "a run" : shortened(command, kTableWidth));
  if (!model.empty()) text += " of " + shortened(model, kTableWidth);
  const auto names = run.find("text");
  if (names == run.end() || !names->is_array() || names->empty()) return text;
  text += " on " + shortened(plain(names->front()), kTableWidth);
  if (names->size() > 1) text += fmt::format(" and {} more", names->size() - 1);
  return text;
}

// Example: "normalizer: softmax -> ssmax; seed: 0 -> 1".
std::string settings_text(const std::vector<Json>& runs) {
  constexpr std::size_t kLongest = 40;
  std::vector<std::string> keys;
  for (const Json& run : runs) {
    for (const auto& [key, value] : run["settings"].items()) {
      if (std::ranges::find(keys, key) == keys.end()) keys.push_back(key);
    }
  }
  std::vector<std::string> parts;
  for (const std::string& key : keys) {
    std::vector<std::string> values;
    for (const Json& run : runs) {
      const Json& settings = run["settings"];
      values.push_back(
          shortened(settings.contains(key) ? plain(settings.at(key)) : "none", kLongest));
    }
    parts.push_back(fmt::format("{}: {}", legible(key), fmt::join(values, " -> ")));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace

std::vector<Results> read_runs(std::string& path) {
  const std::vector<std::string> files = results_files(path);
  if (files.size() == 1) path = files.front();
  std::vector<Results> runs;
  for (const std::string& file : files) runs.push_back(read_results(file));
  return runs;
}

std::string render_runs(const Results& results, const Painter& paint, std::size_t width) {
  constexpr std::size_t kIndent = 10;
  const auto line = [&](const std::string& label, const std::string& text) {
    return paint.entry(Style::faint, label, text, width, std::max(kIndent, label.size() + kGap));
  };
  const bool of_steps = results.coord("step") != nullptr;
  const auto runs = of_steps ? results.settings["runs"].get<std::vector<Json>>()
                             : std::vector<Json>{results.settings["old"], results.settings["new"]};
  std::string out;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    out += line(of_steps ? fmt::format("step {}", results.coord_numbers("step")[i])
                : i == 0 ? "old"
                         : "new",
                run_text(runs[i]));
  }
  out += line("settings", settings_text(runs));
  if (!of_steps && results.settings.contains("pairs")) {
    out += line("pairs", fmt::format("changes on {} texts, each by itself",
                                     results.settings["pairs"].dump()));
  }
  return out;
}

}  // namespace headgauge::cli
