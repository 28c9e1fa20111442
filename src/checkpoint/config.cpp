#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/file.hpp"
#include "base/strict_json.hpp"
#include "headgauge/checkpoint.hpp"
#include "headgauge/files.hpp"

namespace headgauge {
namespace {

using Json = nlohmann::json;

// The description of a type T in messages, and whether a value has it. A number is not accepted if
// conversion could change it: 12.0 is not an integer, but 1 is a number.
template <class T>
struct Reading;

template <>
struct Reading<bool> {
  static constexpr std::string_view kName = "true or false";
  static bool fits(const Json& json) { return json.is_boolean(); }
};
template <>
struct Reading<std::int64_t> {
  static constexpr std::string_view kName = "an integer";
  static bool fits(const Json& json) {
    return json.is_number_integer() &&
           (!json.is_number_unsigned() ||
            json.get<std::uint64_t>() <= std::uint64_t{std::numeric_limits<std::int64_t>::max()});
  }
};
template <>
struct Reading<int> {
  static constexpr std::string_view kName = "an integer of 32 bits";
  static constexpr std::string_view kList = "a list of integers of 32 bits";
  static bool fits(const Json& json) {
    return Reading<std::int64_t>::fits(json) && std::in_range<int>(json.get<std::int64_t>());
  }
};
template <>
struct Reading<double> {
  static constexpr std::string_view kName = "a number";
  static constexpr std::string_view kList = "a list of numbers";
  static bool fits(const Json& json) { return json.is_number(); }
};
template <>
struct Reading<std::string> {
  static constexpr std::string_view kName = "text";
  static constexpr std::string_view kList = "a list of texts";
  static bool fits(const Json& json) { return json.is_string(); }
};
template <class T>
struct Reading<std::vector<T>> {
  static constexpr std::string_view kName = Reading<T>::kList;
  static bool fits(const Json& json) {
    return json.is_array() && std::ranges::all_of(json, Reading<T>::fits);
  }
};

}  // namespace

ConfigReader ConfigReader::open(const std::string& path) {
  return ConfigReader(read_file(path), path);
}

ConfigReader::ConfigReader(std::string_view text, std::string file,
                           std::map<std::string, std::string> names)
    : json_(std::make_shared<const Json>(parse_json_object(text, file))),
      file_(std::move(file)),
      names_(std::move(names)),
      sha256_(text_sha256(text)) {}

std::string ConfigReader::where(std::string_view key) const {
  const std::string field = prefix_ + std::string(key);
  const auto name = names_.find(field);
  return name != names_.end() ? file_ + " " + name->second : file_ + ": field " + field;
}

void ConfigReader::refuse(std::string_view key, std::string_view expected,
                          std::string_view found) const {
  throw BadInputError(fault(where(key), expected, found,
                            names_.empty() ? "use the config.json that the model came with"
                                           : "use a file that llama.cpp's converter wrote"));
}

bool ConfigReader::has(std::string_view key) const {
  const auto it = json_->find(key);
  return it != json_->end() && !it->is_null();
}

const nlohmann::json& ConfigReader::at(std::string_view key, std::string_view expected) const {
  const auto it = json_->find(key);
  if (it == json_->end()) refuse(key, expected, "no such field");
  return *it;
}

template <class T>
T ConfigReader::get(std::string_view key) const {
  const Json& json = at(key, Reading<T>::kName);
  if (!Reading<T>::fits(json)) refuse(key, Reading<T>::kName, describe(json));
  return json.get<T>();
}

template bool ConfigReader::get(std::string_view) const;
template int ConfigReader::get(std::string_view) const;
template std::int64_t ConfigReader::get(std::string_view) const;
template double ConfigReader::get(std::string_view) const;
template std::string ConfigReader::get(std::string_view) const;
template std::vector<int> ConfigReader::get(std::string_view) const;
template std::vector<double> ConfigReader::get(std::string_view) const;
template std::vector<std::string> ConfigReader::get(std::string_view) const;

Index ConfigReader::get_size(std::string_view key, Index least, Index most) const {
  const std::string expected =
      "an integer from " + std::to_string(least) + " to " + std::to_string(most);
  const Json& json = at(key, expected);
  if (!Reading<std::int64_t>::fits(json) || json.get<Index>() < least || json.get<Index>() > most) {
    refuse(key, expected, describe(json));
  }
  return json.get<Index>();
}

double ConfigReader::get_number(std::string_view key, double otherwise, double least,
                                double most) const {
  const double value = get_or(key, otherwise);
  if (!has(key) || (value >= least && value <= most)) return value;
  refuse(key, fmt::format("a number from {} to {}", least, most), fmt::format("{}", value));
}

ConfigReader ConfigReader::child(std::string_view key,
                                 std::initializer_list<const char*> inherited) const {
  const Json& json = at(key, "an object");
  if (!json.is_object()) refuse(key, "an object", describe(json));
  ConfigReader child = *this;
  child.json_ = std::shared_ptr<const Json>(json_, &json);
  if (inherited.size() > 0) {
    Json merged = json;
    for (const char* field : inherited) {
      if (has(field)) merged.emplace(field, json_->at(field));
    }
    child.json_ = std::make_shared<const Json>(std::move(merged));
  }
  child.prefix_ += std::string(key) + ".";
  return child;
}

}  // namespace headgauge
