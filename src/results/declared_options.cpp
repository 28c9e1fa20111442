// The declarations of options, from options/*.json.
#include <fmt/format.h>

#include <map>
#include <stdexcept>

#include "base/strict_json.hpp"
#include "headgauge/options.hpp"
#include "results/catalogue_text.hpp"

namespace headgauge {
namespace {

using Json = nlohmann::ordered_json;

// Declarations by member ("ScanOptions::lengths"), or by name if several structs have the option.
using Declarations = std::map<std::string, Json, std::less<>>;

const Declarations& option_declarations() {
  static const Declarations read = [] {
    Declarations all;
    for (const Json& file : parse_json<Json>(declared_options_text(), "options")) {
      for (const auto& [group, members] : file.items()) {
        for (const auto& [member, declared] : members.items()) {
          all[member] = declared;
          if (!group.empty()) all[member]["group"] = group;
        }
      }
    }
    return all;
  }();
  return read;
}

const Json& declaration_of_option(const std::string& member) {
  const auto found = option_declarations().find(member);
  if (found != option_declarations().end()) return found->second;
  throw std::logic_error(fmt::format("no declaration of the option {}", member));
}

void declare_as(const Json& declared, Option& option) {
  static const std::map<std::string, std::string Option::*> texts = {
      {"form", &Option::form},      {"group", &Option::group},
      {"help", &Option::help},      {"details", &Option::details},
      {"none", &Option::none},      {"expects", &Option::expects},
      {"named", &Option::named},    {"excludes", &Option::excludes},
      {"implies", &Option::implies}};
  const auto like = declared.find("like");
  if (like != declared.end()) declare_as(declaration_of_option(*like), option);
  for (const auto& [key, value] : declared.items()) {
    const auto text = texts.find(key);
    if (text != texts.end()) {
      option.*text->second = value.get<std::string>();
    } else if (key == "least") {
      option.least = value;
    } else if (key == "most") {
      option.most = value;
    } else if (key == "below") {
      option.below = value;
    } else if (key == "decides") {
      option.decides = value;
    } else if (key == "names_files") {
      option.names_files = value;
    } else if (key != "like") {
      throw std::logic_error(fmt::format("an option is declared with {}", key));
    }
  }
}

}  // namespace

std::vector<Option> declared_options(const std::string& owner,
                                     const std::vector<OptionMember>& members) {
  std::vector<Option> options;
  for (const auto& [name, value] : members) {
    const bool is_of_other = std::string_view(name).find("::") != std::string_view::npos;
    Option& option = options.emplace_back();
    option.member = is_of_other ? name : fmt::format("{}::{}", owner, name);
    option.value = value;
    declare_as(
        declaration_of_option(option_declarations().contains(option.member) ? option.member : name),
        option);
  }
  return options;
}

std::vector<Option> adapted_options(const std::string& owner, std::vector<Option> options) {
  for (Option& option : options) {
    const auto found = option_declarations().find(fmt::format("{}::{}", owner, option.key()));
    if (found != option_declarations().end()) declare_as(found->second, option);
  }
  return options;
}

}  // namespace headgauge
