// Text from elsewhere, made fit for a line that a person reads: what files, folders and options are
// called and what stands in them may be anything.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headgauge {

// The text with every character escaped that could do something to a terminal or begin a line:
// control characters (C0, DEL and C1), marks that turn the direction of writing, line and paragraph
// separators, what cannot be seen, and bytes that are not UTF-8. "\x1b" and "\u202e" stand for
// them. What is escaped stays as it is when it is escaped again.
std::string legible(std::string_view text);

// The same in quotation marks, cut where it is longer than `most` bytes.
std::string in_quotes(std::string_view text, std::size_t most = 100);

// The known words that are most like `word`, nearest first and at most so many.
std::vector<std::string> nearest_words(std::string_view word, std::vector<std::string> known,
                                       std::size_t most);

// What follows a name that is not among the known ones: " (did you mean entropy?)", or nothing
// where none is near.
std::string did_you_mean(std::string_view word, std::vector<std::string> known);

}  // namespace headgauge
