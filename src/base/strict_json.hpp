// Parses JSON from untrusted files: every fault is a one-line BadInputError with the byte offset.
// All JSON that headgauge reads is parsed here.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "headgauge/text.hpp"

namespace headgauge {

inline constexpr const char* kDamagedJson =
    "the file is damaged or is something else; fetch or write it again";

// Parses a text. `where` names the file in messages, `advice` says what to do about a damaged file.
// Nesting is limited to 64 levels, no key may appear twice in an object (parsers differ in which
// one they keep), and a number has to fit float64. Json is nlohmann::json, which finds keys fast,
// or nlohmann::ordered_json, which keeps their order.
template <class Json = nlohmann::json>
Json parse_json(std::string_view text, const std::string& where,
                std::string_view advice = kDamagedJson);

// Parses a text that must be an object.
template <class Json = nlohmann::json>
Json parse_json_object(std::string_view text, const std::string& where,
                       std::string_view advice = kDamagedJson);

// Throws BadInputError if the file is a pointer of Git LFS or a page of HTML: what a failed
// download leaves in its place. A file of weights (`is_binary`) is no archive, no array of NumPy
// and no text, either.
void refuse_stand_in(std::string_view file, const std::string& where, std::string_view expected,
                     bool is_binary = false);

// Describes a value in a few words for "found ...": `"abc"`, `12`, `a list of 3`.
template <class Json>
std::string describe(const Json& value) {
  if (value.is_string()) return in_quotes(value.template get_ref<const std::string&>());
  if (value.is_array()) return "a list of " + std::to_string(value.size());
  return value.is_object() ? "an object" : value.dump();
}

// Writes a JSON value on one line or, with an `indent`, on several. Bytes that are not UTF-8, which
// file names may contain, are replaced. Characters that legible() escapes become JSON escapes; the
// value stays the same.
std::string json_text(const nlohmann::ordered_json& json, int indent = -1);

}  // namespace headgauge
