#include "headgauge/options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>

#include "base/strict_json.hpp"
#include "headgauge/diff.hpp"
#include "headgauge/series.hpp"
#include "results/catalogue_text.hpp"
#include "results/declaration.hpp"

namespace headgauge {
namespace {

using Json = nlohmann::ordered_json;

// Converts a member of any kind to JSON; an empty value or 0 becomes the word for it.
struct ToJson {
  const Option& option;

  Json operator()(const Choice& value) const { return value.words.at(value.get()); }
  Json operator()(const Texts* value) const {
    const auto names = names_of(*value);
    return (*this)(&names);
  }
  template <class T>
  Json operator()(const T* value) const {
    if (!option.none.empty() && *value == T{}) return option.none;
    return *value;
  }
  template <class T>
  Json operator()(const std::optional<T>* value) const {
    if (!value->has_value()) return nullptr;
    return (*this)(&**value);
  }
};

std::string replaced(std::string text, char from, char to) {
  std::ranges::replace(text, from, to);
  return text;
}

// The words of a member: its heading, and the keys of options.
struct Words {
  std::string group;
  nlohmann::json keys;
};

const std::map<std::string, Words>& all_words() {
  static const std::map<std::string, Words> words = [] {
    std::map<std::string, Words> read;
    for (const auto& file : parse_json(options_text(), "options")) {
      for (const auto& [owner, headings] : file.items()) {
        for (const auto& [heading, options] : headings.items()) {
          for (const auto& [name, keys] : options.items()) {
            read[owner + "::" + name] = {heading, keys};
          }
        }
      }
    }
    return read;
  }();
  return words;
}

// Gives an option the words of a member, if there are any, in place of its own.
void give_words(const std::string& member, Option& option) {
  const auto words = all_words().find(member);
  if (words == all_words().end()) return;
  option.group = words->second.group;
  declaration::Keys keys(words->second.keys, member);
  const auto read = [&]<class T>(const char* key, T& value) {
    value = keys.find<T>(key).value_or(value);
  };
  read("form", option.form);
  read("help", option.help);
  read("details", option.details);
  read("least", option.least);
  read("most", option.most);
  read("below", option.below);
  read("expects", option.expects);
  read("none", option.none);
  read("named", option.named);
  read("excludes", option.excludes);
  read("decides", option.decides);
  read("names_files", option.names_files);
  keys.done();
}

}  // namespace

std::string Option::name() const {
  if (!named.empty()) return named;
  const std::size_t colon = member.rfind(':');
  return replaced(colon == member.npos ? member : member.substr(colon + 1), '_', '-');
}

std::string Option::key() const {
  return replaced(name(), '-', '_');
}

Json option_setting(const Option& option) {
  return std::visit(ToJson{option}, option.value);
}

std::string option_text(const Option& option) {
  const Json setting = option_setting(option);
  const auto text = [](const Json& value) {
    if (value.is_string()) return value.get<std::string>();
    return value.is_number_float() ? fmt::format("{}", value.get<double>()) : value.dump();
  };
  if (!setting.is_array()) return text(setting);
  std::vector<std::string> parts;
  for (const Json& value : setting) parts.push_back(text(value));
  return fmt::format("{}", fmt::join(parts, ","));
}

void write_settings(const std::vector<Option>& options, Json& settings) {
  for (const Option& option : options) settings[option.key()] = option_setting(option);
}

std::vector<Option> in_group(const char* group, std::vector<Option> options) {
  for (Option& option : options) {
    if (option.group.empty()) option.group = group;
  }
  return options;
}

std::vector<Option> declared_options(std::vector<std::pair<std::string, OptionValue>> members) {
  std::vector<Option> options;
  for (auto& [member, value] : members) {
    Option& option = options.emplace_back();
    option.member = member;
    option.value = std::move(value);
    const auto own = all_words().find(member);
    const bool whole = own != all_words().end() && own->second.keys.contains("form");
    if (!whole) give_words("Shared" + member.substr(member.find("::")), option);
    give_words(member, option);
    if (option.help.empty()) declaration::refuse(member, "the option has no words");
  }
  return options;
}

std::vector<Option> reworded(const std::string& owner, std::vector<Option> options) {
  for (Option& option : options) {
    give_words(owner + option.member.substr(option.member.find("::")), option);
  }
  return options;
}

std::vector<Option> options_of(DiffOptions& o) {
  return declared_options({{"DiffOptions::metrics", &o.metrics}, {"DiffOptions::heads", &o.heads}});
}

std::vector<Option> options_of(SeriesOptions& o) {
  return declared_options({{"SeriesOptions::steps", &o.steps},
                           {"SeriesOptions::metrics", &o.metrics},
                           {"SeriesOptions::level", &o.level}});
}

std::vector<double> geometric(double first, double last, int count) {
  std::vector<double> values;
  for (int i = 0; i < count; ++i) {
    values.push_back(i + 1 == count && count > 1
                         ? last
                         : first * std::pow(last / first, count > 1 ? i / (count - 1.0) : 0));
  }
  return values;
}

Option& find_option(std::vector<Option>& options, std::string_view name) {
  const auto found = std::ranges::find(options, name, &Option::name);
  if (found == options.end()) throw std::logic_error(fmt::format("no option {}", name));
  return *found;
}

}  // namespace headgauge
