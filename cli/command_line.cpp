#include "cli/command_line.hpp"

#include <string_view>

#include "cli/commands.hpp"
#include "cli/print.hpp"
#include "cli/words.hpp"
#include "headgauge/base.hpp"
#include "headgauge/results_folder.hpp"
#include "headgauge/tokenize.hpp"

namespace headgauge::cli {
namespace {

void add_lines(const std::string& list, std::string_view text, std::vector<std::string>& words) {
  // The system would end the argument at a NUL and open a file of another name.
  if (text.find('\0') != std::string_view::npos) {
    throw BadInputError(fault(list, "a word on each line", "a line with a NUL byte in it",
                              "list the words as text, one on each line"));
  }
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty()) words.emplace_back(line);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

// Returns the arguments with each `@FILE` replaced by the lines of the file. Each line is one
// argument, whatever it contains; empty lines are skipped, and a line `@X` is not expanded. Write
// ./@name for a file whose own name begins with @. Throws BadInputError as read_text_file() does.
std::vector<std::string> with_lists(const std::vector<std::string>& arguments) {
  std::vector<std::string> words, lists;
  for (const std::string& argument : arguments) {
    if (argument.size() < 2 || argument.front() != '@') {
      words.push_back(argument);
      continue;
    }
    const std::size_t before = words.size();
    lists.push_back(argument.substr(1));
    add_lines(argument, read_text_file(argument.substr(1)), words);
    if (words.size() == before) {
      throw BadInputError(fault(argument, "a word on each line, such as the name of a file", "none",
                                "list them, or write ./" + argument + " for a file of that name"));
    }
  }
  for (std::size_t w = 1; w < words.size(); ++w) {  // a list is read, too
    if (words[w].starts_with("--out=")) require_unread(words[w].substr(6), lists, kResultsNames);
    if (words[w - 1] == "--out") require_unread(words[w], lists, kResultsNames);
  }
  return words;
}

}  // namespace

int run_command(const std::vector<std::string>& arguments) {
  CommandNode app{.name = "headgauge",
                  .about = "Measures what the attention heads of a transformer can and cannot do.",
                  .example =
                      "Example: headgauge scan gpt2 --text book.txt --out results\n"
                      "headgauge help COMMAND, or COMMAND --help, prints what a command takes."};
  for (const auto add : {add_scan, add_compare, add_cache, add_converge, add_report, add_diff,
                         add_series, add_validate, add_plan, add_reproduce, add_merge, add_task,
                         add_list, add_inspect, add_help, add_options_list}) {
    add(app);
  }
  std::string shown;
  if (const CommandNode* const command = take_words(app, with_lists(arguments), shown)) {
    return command->run(*command);
  }
  print_text(shown);
  return 0;
}

}  // namespace headgauge::cli
