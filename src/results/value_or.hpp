// Settings and what is known of a model and a text, as they are read from a file that anybody may
// have written.
#pragma once

#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>

namespace headgauge {

// The value of a key of an object where it is of this type, a whole number within its range;
// `otherwise` where it is missing or something else.
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
