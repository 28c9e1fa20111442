// Options, each declared once, in options/*.json: the command line, the settings of the results
// file and the tables of the pages of the commands come from the same declaration.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "headgauge/texts.hpp"

namespace headgauge {

// A value that is one of several words: an enumeration whose values count from 0.
struct Choice {
  std::vector<std::string> words;
  std::function<std::size_t()> get;  // the index of the word
  std::function<void(std::size_t)> set;
};

template <class Enum>
Choice choice(Enum& value, std::vector<std::string> words) {
  return {std::move(words), [&value] { return static_cast<std::size_t>(value); },
          [&value](std::size_t word) { value = static_cast<Enum>(word); }};
}

// Points to the member of an options struct that holds the value.
using OptionValue = std::variant<bool*, int*, double*, std::uint64_t*, std::string*,
                                 std::vector<int>*, std::vector<double>*, std::vector<std::string>*,
                                 std::optional<int>*, std::optional<double>*, Texts*, Choice>;

struct Option {
  std::string member;  // "MeasureOptions::top_n", as errors name it
  OptionValue value;
  // The form that the user types: "N" or "random|top2"; "N,N..." for a list, or "FILE..." if its
  // values are separate arguments. Empty for a flag that takes no value.
  std::string form = {};
  std::string group = {};    // the heading above it: "Output"; empty if none
  std::string help = {};     // {} is replaced by the default, {groups} by the groups of metrics
  std::string details = {};  // what the documentation adds to the help
  // The accepted values: whole numbers from `least` to `most`; other numbers above 0, or from
  // `least` on if it is set, and below `below`; any text, but not an empty one if `expects` is set,
  // which says what is expected.
  int least = std::numeric_limits<int>::min();
  int most = std::numeric_limits<int>::max();
  double below = std::numeric_limits<double>::infinity();
  std::string expects = {};
  std::string none = {};      // the word for an empty value or 0: "all", "auto"
  std::string named = {};     // the name, if it differs from the member's
  std::string excludes = {};  // the name of an option that cannot be given with this one
  std::string implies = {};   // the name of a flag that is set with this one
  // True if a number in the results depends on the option. Options for which it is false may differ
  // when a run is resumed or shards are merged.
  bool decides = true;
  // True if the value names files, on whose contents the numbers depend.
  bool names_files = false;

  // Returns the name on the command line: "top-n".
  std::string name() const;
  // Returns the key in the settings: "top_n".
  std::string key() const;
};

// A member of a struct and its name: {"lengths", &options.lengths}. The name of a member of another
// struct is "MeasureOptions::top_n".
using OptionMember = std::pair<const char*, OptionValue>;
// Returns the members of the struct `owner` as options/*.json declares them, by member or, if
// several structs have the option, by name.
std::vector<Option> declared_options(const std::string& owner,
                                     const std::vector<OptionMember>& members);
// Returns the options with what `owner` declares otherwise.
std::vector<Option> adapted_options(const std::string& owner, std::vector<Option> options);

// Returns all lists as one.
std::vector<Option> join_options(const std::vector<std::vector<Option>>& lists);
// Returns the options with one of these names, or those with none of them.
std::vector<Option> only(std::vector<Option> options, const std::set<std::string>& names);
std::vector<Option> without(std::vector<Option> options, const std::set<std::string>& names);

// Return the option's present value, as settings record it and in words.
nlohmann::ordered_json option_setting(const Option& option);
std::string option_text(const Option& option);

// Returns whether a list is typed as one word with commas: true for "T,T...", false for "FILE..."
// and for specs, which contain commas themselves.
bool is_one_word(const Option& option);

// Sets the value from the form that option_setting() returns, or from typed text: "32,64" is a
// list, "none" or "all" an empty value if Option::none says so, 32.0 a whole number. Texts are
// named files. Throws UsageError, which names the member, for an invalid value.
void set_option(const Option& option, const nlohmann::ordered_json& value);
// The same, but returns the error ("expected a whole number, found "x"") instead of throwing; empty
// on success.
std::string try_to_set(const Option& option, const nlohmann::ordered_json& value);

// Records all options in `settings`, each under its key.
void write_settings(const std::vector<Option>& options, nlohmann::ordered_json& settings);

// Returns `count` numbers in geometric progression from first to last inclusive, which is the
// meaning of FIRST:LAST:COUNT.
std::vector<double> geometric(double first, double last, int count);

// Finds the option of that name; throws std::logic_error if there is none.
Option& find_option(std::vector<Option>& options, std::string_view name);

}  // namespace headgauge
