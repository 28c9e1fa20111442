// JSON from untrusted files: every fault is a BadInputError of one line, with the byte offset. All
// JSON that headgauge reads comes through here.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "headgauge/text.hpp"

namespace headgauge {

inline constexpr const char* kDamagedJson =
    "the file is damaged or is something else; fetch or write it again";

// Parses a text; `where` names the file in messages, `advice` says what to do about one that is
// damaged. Nesting is limited to 64 levels, no key may stand twice in an object (readers
// differ in which of the two they take), and a number has to fit float64. Json is nlohmann::json,
// which finds keys fast, or nlohmann::ordered_json, which keeps their order.
template <class Json = nlohmann::json>
Json parse_json(std::string_view text, const std::string& where,
                std::string_view advice = kDamagedJson);

// The same of a text that has to be an object.
template <class Json = nlohmann::json>
Json parse_json_object(std::string_view text, const std::string& where,
                       std::string_view advice = kDamagedJson);

// A value in a few words for "found ...": `"abc"`, `12`, `a list of 3`.
template <class Json>
std::string describe(const Json& value) {
  if (value.is_string()) return in_quotes(value.template get_ref<const std::string&>());
  if (value.is_array()) return "a list of " + std::to_string(value.size());
  return value.is_object() ? "an object" : value.dump();
}

// The text of a JSON value, on one line or, with an `indent`, on several. Names of files need not
// be UTF-8: what is not is replaced. Characters that legible() escapes are escaped here too, as
// JSON has it; the value stays the same.
std::string json_text(const nlohmann::ordered_json& json, int indent = -1);

}  // namespace headgauge
