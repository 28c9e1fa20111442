// Makes text from outside safe to show on one line: names and contents of files, folders and
// options may be anything.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headgauge {

// Escapes every character that could act on a terminal or start a line: control characters (C0, DEL
// and C1), marks that change the direction of writing, line and paragraph separators, invisible
// characters, and bytes that are not UTF-8. They become "\x1b" or "\u202e". Escaping twice changes
// nothing more.
std::string legible(std::string_view text);

// Returns the text as Markdown shows it, without effect: no line, markup, link or cell of its own.
std::string in_markdown(std::string_view text);

// Escapes the text and quotes it; a text longer than `most` bytes is cut.
std::string in_quotes(std::string_view text, std::size_t most = 100);

// Returns the known words most similar to `word`, nearest first, at most `most` of them.
std::vector<std::string> nearest_words(std::string_view word, std::vector<std::string> known,
                                       std::size_t most);

// Returns the suggestion after an unknown name in a message: " (did you mean entropy?)", or nothing
// if no known name is similar.
std::string did_you_mean(std::string_view word, std::vector<std::string> known);

}  // namespace headgauge
