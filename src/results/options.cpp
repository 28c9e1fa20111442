#include "headgauge/options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "headgauge/diff.hpp"

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

std::vector<Option> join_options(const std::vector<std::vector<Option>>& lists) {
  std::vector<Option> all;
  for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

std::vector<Option> only(std::vector<Option> options, const std::set<std::string>& names) {
  std::erase_if(options, [&](const Option& option) { return !names.contains(option.name()); });
  return options;
}

std::vector<Option> without(std::vector<Option> options, const std::set<std::string>& names) {
  std::erase_if(options, [&](const Option& option) { return names.contains(option.name()); });
  return options;
}

std::vector<Option> options_of(DiffOptions& o) {
  return declared_options("DiffOptions", {{"metrics", &o.metrics}, {"heads", &o.heads}});
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
