#include "cli/present_command.hpp"

#include "cli/options.hpp"

namespace headgauge::cli {
namespace {

PresentCommand& noted() {
  static thread_local PresentCommand command;
  return command;
}

}  // namespace

void note_command(const CLI::App& command) {
  PresentCommand& present = noted();
  present = {command.get_name(), {}};
  for (const CLI::Option* option : command.get_options()) {
    if (option->count() == 0) continue;
    if (option->get_positional()) {
      present.options.emplace_back("", option->results());
      continue;
    }
    const Option* const declared = declaration(command, *option);
    if (declared == nullptr || !declared->decides) continue;
    // A flag takes no word.
    present.options.emplace_back(declared->name(), option->get_items_expected_max() == 0
                                                       ? std::vector<std::string>()
                                                       : option->results());
  }
}

const PresentCommand& present_command() {
  return noted();
}

nlohmann::ordered_json as_json(const PresentCommand& command) {
  nlohmann::ordered_json json = {{"command", command.name}};
  for (const auto& [name, words] : command.options) {
    json[name.empty() ? "MODEL" : "--" + name] = words;
  }
  return json;
}

std::vector<std::string> words_of(const nlohmann::ordered_json& command) {
  std::vector<std::string> words = {command.at("command").get<std::string>()};
  if (command.contains("MODEL")) words.push_back(command.at("MODEL").at(0).get<std::string>());
  for (const auto& [name, values] : command.items()) {
    if (!name.starts_with("--")) continue;
    // A single word may begin with a hyphen.
    if (values.size() == 1) {
      words.push_back(name + "=" + values.at(0).get<std::string>());
      continue;
    }
    words.push_back(name);
    for (const auto& value : values) words.push_back(value.get<std::string>());
  }
  return words;
}

}  // namespace headgauge::cli
