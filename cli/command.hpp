// A command of the command line: what it takes, and what it does.
#pragma once

#include <functional>
#include <list>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "headgauge/options.hpp"

namespace headgauge::cli {

// A word that is known by its place.
struct Operand {
  std::string name;  // "MODEL"
  std::string help;
  std::variant<std::string*, std::vector<std::string>*> value;  // a list takes all further words
  bool required = true;
  std::string unless = {};  // the option that may stand in its place: "--results"
  // Refuses an empty word, which usually comes from an unset script variable; says what is
  // expected.
  std::string expects = {};

  bool is_optional() const { return !required || !unless.empty(); }
  bool is_list() const { return value.index() == 1; }
};

struct CommandNode {
  std::string name;
  std::string about = {};
  std::string example = {};
  std::string alias = {};
  bool hidden = false;  // from the help
  std::vector<Operand> operands = {};
  std::vector<Option> options = {};
  // Runs the command with the values that were typed; returns the exit code.
  std::function<int(const CommandNode&)> run = {};
  std::list<CommandNode> commands = {};  // below this one
  const CommandNode* parent = nullptr;
  std::set<std::string> given = {};  // the operands and options that were typed: "MODEL", "--text"

  CommandNode& add(CommandNode command);
  bool has(const std::string& typed) const { return given.contains(typed); }
  // Returns "reproduce tokens"; empty for headgauge itself.
  std::string full_name() const;
  // Return the command or the option ("--text") of that name; null if there is none.
  CommandNode* find_command(const std::string& word);
  const Option* find_option(const std::string& word) const;
};

// Returns what --help prints.
std::string help_of(const CommandNode& command);
// Returns the advice to read it.
std::string see_help(const CommandNode& command);

// Throws UsageError, which says what was expected instead of the word: one of the command's
// commands. `word`: null if there was none.
[[noreturn]] void refuse_word(const std::string& where, const CommandNode& command,
                              const std::string* word, const std::string& advice);

// Returns the options of all commands, in order: objects with command, name, form, group, help and
// details.
nlohmann::ordered_json options_of_all(const CommandNode& app);

}  // namespace headgauge::cli
