// JSON from untrusted files: every fault is a BadInputError of one line, with the byte offset.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace headgauge {

// Parses an object; `where` names the file in messages. Nesting is limited, and no key may stand
// twice in an object: readers differ in which of the two they take.
nlohmann::json parse_json_object(std::string_view text, const std::string& where);

// A value in a few words for "found ...": `the text "abc"`, `12`, `a list of 3`.
std::string describe(const nlohmann::json& value);

// Text from a file made fit for a one-line message: in quotes, control characters and bytes that
// are not ASCII escaped where they are not valid UTF-8, cut where long.
std::string in_quotes(std::string_view text);

}  // namespace headgauge
