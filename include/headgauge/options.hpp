// Options, each declared once: the command line, the settings of the results file and the tables of
// docs/cli.md come from the same declaration.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
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

// Headings that group options of the command line; those of the library have theirs in options/.
namespace option_group {
inline constexpr const char* input = "Input";
inline constexpr const char* drawn = "What is drawn";
inline constexpr const char* output = "Output";
}  // namespace option_group

struct Option {
  std::string member;  // "MeasureOptions::top_n", as errors name it
  OptionValue value;
  // The form that the user types: "N" or "random|top2"; "N,N..." for a list, or "FILE..." if its
  // values are separate arguments. Empty for a flag that takes no value.
  std::string form;
  std::string group = {};    // the heading; empty if none
  std::string help;          // {} is replaced by the default, {groups} by the groups of metrics
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

// Puts the options that have no group yet into this one.
std::vector<Option> in_group(const char* group, std::vector<Option> options);

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

// Make the options that several structs have; `owner` is the struct's name.
Option normalizer_option(const std::string& owner, std::string& normalizer);
Option threads_option(const std::string& owner, int& threads);
Option seed_option(const std::string& owner, std::uint64_t& seed);

// Returns `count` numbers in geometric progression from first to last inclusive, which is the
// meaning of FIRST:LAST:COUNT.
std::vector<double> geometric(double first, double last, int count);

// Finds the option of that name; throws std::logic_error if there is none.
Option& find_option(std::vector<Option>& options, std::string_view name);

}  // namespace headgauge
