// What standard output and standard error are connected to.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cli/table.hpp"

namespace headgauge::cli {

// Takes the place of standard streams that are closed, so that no file that is opened later becomes
// one of them and has messages written into it.
void hold_streams();

// The width of the terminal that a stream is, if it is one.
std::optional<std::size_t> terminal_width(int descriptor);

// Whether a stream is a terminal that moves the cursor and knows colours: not where TERM is "dumb".
bool takes_escapes(int descriptor);

// How a table fits standard output: in colour on a terminal (unless NO_COLOR is set), and no wider.
TableOptions table_on_output();

// Sentences below a table: broken between words on a terminal, a line each where something else
// reads them.
void print_sentences(const std::vector<std::string>& sentences);

// Notices on stderr, which come after everything else. What files say may hold anything: control
// characters are escaped here and above.
void print_notices(const std::vector<std::string>& notices);

}  // namespace headgauge::cli
