// Text from elsewhere, made fit for a line that a person reads: what files, folders and options are
// called and what stands in them may be anything.
#pragma once

#include <string>
#include <string_view>

namespace headgauge {

// The text with every character escaped that could do something to a terminal or begin a line:
// control characters (C0, DEL and C1), marks that turn the direction of writing, line and paragraph
// separators, what cannot be seen, and bytes that are not UTF-8. "\x1b" and "\u202e" stand for
// them. What is escaped stays as it is when it is escaped again.
std::string legible(std::string_view text);

// The same in quotation marks, cut where it is longer than `most` bytes.
std::string in_quotes(std::string_view text, std::size_t most = 100);

}  // namespace headgauge
