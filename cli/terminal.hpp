// Properties of standard output and standard error.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cli/tables.hpp"

namespace headgauge::cli {

// Opens standard streams that are closed, so that no file opened later takes their descriptors and
// receives messages.
void hold_streams();

// Returns the width of the terminal; nullopt if the stream is no terminal.
std::optional<std::size_t> terminal_width(int descriptor);

// Returns whether a stream is a terminal that supports cursor movement and colours; false if TERM
// is "dumb".
bool takes_escapes(int descriptor);

// Sets options for a table on standard output: colours on a terminal (unless NO_COLOR is set), and
// the terminal's width.
TableOptions table_on_output(TableOptions table);

// Prints sentences below a table: wrapped on a terminal, else one per line.
void print_sentences(const std::vector<std::string>& sentences);

// Prints notices on stderr after everything else. Control characters are escaped here and above,
// because files may contain anything.
void print_notices(const std::vector<std::string>& notices);

}  // namespace headgauge::cli
