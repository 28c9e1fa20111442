// Reads settings and properties of a model or text from a file that anybody may have written.
#pragma once

#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>

namespace headgauge {

// Returns the value of an object's key if it has this type (for a whole number: and is in its
// range); `otherwise` if it is missing or anything else.
template <class T>
T value_or(const nlohmann::ordered_json& object, const std::string& key, T otherwise) {
  const auto it = object.find(key);
  if (it == object.end()) return otherwise;
  if constexpr (std::is_same_v<T, bool>) {
    return it->is_boolean() ? it->template get<bool>() : otherwise;
  } else if constexpr (std::is_same_v<T, std::string>) {
    return it->is_string() ? it->template get<std::string>() : otherwise;
  } else if constexpr (std::is_same_v<T, double>) {
    return it->is_number() ? it->template get<double>() : otherwise;
  } else {
    static_assert(std::is_same_v<T, int>);
    if (!it->is_number_integer()) return otherwise;
    const double value = it->template get<double>();
    const bool fits =
        value >= std::numeric_limits<int>::min() && value <= std::numeric_limits<int>::max();
    return fits ? it->template get<int>() : otherwise;
  }
}

}  // namespace headgauge
