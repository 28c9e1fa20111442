// Reads one declaration of the catalogue, an object in catalogue/*.json.
#pragma once

#include <fmt/format.h>

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace headgauge::declaration {

[[noreturn]] inline void refuse(const std::string& place, const std::string& what) {
  throw std::logic_error(fmt::format("catalogue: {}: {}", place, what));
}

// Takes the keys of an object one by one; an unread key is an error at the end.
class Keys {
 public:
  Keys(nlohmann::json object, std::string place)
      : left_(std::move(object)), place_(std::move(place)) {
    if (!left_.is_object()) refuse(place_, "expected an object");
  }

  template <class T>
  std::optional<T> find(const char* key) {
    const auto at = left_.find(key);
    if (at == left_.end()) return std::nullopt;
    try {
      T value = std::move(*at).template get<T>();
      left_.erase(at);
      return value;
    } catch (const nlohmann::json::exception&) {
      refuse(place_, fmt::format("\"{}\" has a wrong type", key));
    }
  }
  template <class T>
  T take(const char* key) {
    auto value = find<T>(key);
    if (!value) refuse(place_, fmt::format("\"{}\" is missing", key));
    return std::move(*value);
  }
  nlohmann::json::array_t list(const char* key) {
    return find<nlohmann::json::array_t>(key).value_or(nlohmann::json::array_t());
  }
  std::string text(const char* key) {
    auto value = take<std::string>(key);
    if (value.empty()) refuse(place_, fmt::format("\"{}\" is empty", key));
    return value;
  }
  // Returns the enum value whose name is given.
  template <class Enum>
  Enum one_of(const char* key, std::initializer_list<std::pair<const char*, Enum>> names) {
    const std::string name = text(key);
    for (const auto& [known, value] : names) {
      if (name == known) return value;
    }
    refuse(place_, fmt::format("\"{}\" is \"{}\"", key, name));
  }
  // Leaves keys to their own readers.
  void skip(std::initializer_list<const char*> keys) {
    for (const char* key : keys) left_.erase(key);
  }
  void done() const {
    if (!left_.empty()) refuse(place_, fmt::format("unknown key \"{}\"", left_.begin().key()));
  }
  bool has(const char* key) const { return left_.contains(key); }

 private:
  nlohmann::json left_;
  std::string place_;
};

// Returns the unit of a column: the key `unit`, or else that of its metric.
inline std::string unit_of(Keys& keys, const std::string& of_metric, const std::string& place) {
  const std::string own = of_metric == "1" ? "" : of_metric;
  const auto said = keys.find<std::string>("unit");
  if (said && *said == own) refuse(place, "\"unit\" repeats that of the metric");
  return said.value_or(own);
}

}  // namespace headgauge::declaration
