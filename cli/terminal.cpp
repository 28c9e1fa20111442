#include "cli/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "cli/print.hpp"
#include "cli/table_style.hpp"
#include "headgauge/text.hpp"

using namespace std::string_view_literals;

namespace headgauge::cli {

void hold_streams() {
  // A pipe takes the lowest free descriptors. With its writing end closed the reading end gives no
  // input and accepts no output, so printing fails as it does on a closed stream.
  for (int ends[2]; pipe(ends) == 0;) {
    close(ends[1]);
    if (ends[0] > STDERR_FILENO) {
      close(ends[0]);
      return;
    }
  }
}

std::optional<std::size_t> terminal_width(int descriptor) {
  if (isatty(descriptor) == 0) return std::nullopt;
  winsize size{};
  const bool known = ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : std::size_t{80};
}

bool takes_escapes(int descriptor) {
  const char* const kind = std::getenv("TERM");
  return terminal_width(descriptor).has_value() && (kind == nullptr || kind != "dumb"sv);
}

TableOptions table_on_output(TableOptions table) {
  const auto width = terminal_width(STDOUT_FILENO);
  const char* no_color = std::getenv("NO_COLOR");
  table.color = takes_escapes(STDOUT_FILENO) && (no_color == nullptr || *no_color == '\0');
  if (width) table.width = std::min(*width, kTableWidth);
  return table;
}

void print_sentences(const std::vector<std::string>& sentences) {
  const auto width = terminal_width(STDOUT_FILENO);
  for (const std::string& sentence : sentences) {
    const std::string line = legible(sentence);
    print_text((width ? wrapped(line, std::min(*width, kTableWidth), 2) : line) + "\n");
  }
}

void print_notices(const std::vector<std::string>& notices) {
  for (const std::string& notice : notices) {
    tell("headgauge: note: " + legible(notice) + "\n");
  }
}

}  // namespace headgauge::cli
