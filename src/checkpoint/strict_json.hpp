// JSON from untrusted files: every fault is a BadInputError of one line, with the byte offset.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace headgauge {

// What to do where an object holds a key twice: Python's reader, and so config.json, keeps the
// last; the safetensors format forbids it.
enum class DuplicateKeys { keep_last, refuse };

// Parses an object; `where` names the file in messages. Nesting is limited.
nlohmann::json parse_json_object(std::string_view text, const std::string& where,
                                 DuplicateKeys duplicates);

// A value in a few words for "found ...": `the text "abc"`, `12`, `a list of 3`.
std::string describe(const nlohmann::json& value);

// Text from a file made fit for a one-line message: in quotes, control characters and bytes that
// are not ASCII escaped where they are not valid UTF-8, cut where long.
std::string in_quotes(std::string_view text);

}  // namespace headgauge
