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

namespace headgauge {

// A value that is one of several words: an enumeration, whose values count from 0.
struct Choice {
  std::vector<std::string> words;
  std::function<std::size_t()> get;  // which of the words it is
  std::function<void(std::size_t)> set;
};

template <class Enum>
Choice choice(Enum& value, std::vector<std::string> words) {
  return {std::move(words), [&value] { return static_cast<std::size_t>(value); },
          [&value](std::size_t word) { value = static_cast<Enum>(word); }};
}

// The member of an options struct that an option is kept in.
using OptionValue = std::variant<bool*, int*, double*, std::uint64_t*, std::string*,
                                 std::vector<int>*, std::vector<double>*, std::vector<std::string>*,
                                 std::optional<int>*, std::optional<double>*, Choice>;

// The headings that options stand under.
namespace option_group {
inline constexpr const char* input = "Input";
inline constexpr const char* compared = "What is compared";
inline constexpr const char* changed = "What is changed";
inline constexpr const char* searched = "What is searched";
inline constexpr const char* measured = "What is measured";
inline constexpr const char* drawn = "What is drawn";
inline constexpr const char* sensitivity = "Sensitivity";
inline constexpr const char* critical = "Distances and critical N";
inline constexpr const char* synthetic = "Synthetic tokens";
inline constexpr const char* running = "Running";
inline constexpr const char* output = "Output";
}  // namespace option_group

struct Option {
  std::string member;  // "MeasureOptions::top_n"; errors call it so
  OptionValue value;
  // What is typed: "N" or "random|top2", for a list "N,N..." or, as words of their own, "FILE...".
  // Empty: a flag that takes no value.
  std::string form;
  std::string group;         // see option_group; empty: none
  std::string help;          // {} stands for the default, {groups} for the groups of metrics
  std::string details = {};  // what the documentation says beyond the help
  // What is accepted: of whole numbers `least` to `most`, of others those above 0 and below
  // `below`, of texts none that is empty where `expects` says what is expected.
  int least = std::numeric_limits<int>::min();
  int most = std::numeric_limits<int>::max();
  double below = std::numeric_limits<double>::infinity();
  std::string expects = {};
  std::string none = {};      // the word for an empty value or a 0: "all", "auto"
  std::string named = {};     // the name, where it is not the member's
  std::string excludes = {};  // the name of an option that cannot be given with this one
  // Whether a number depends on it. A run goes on, and shards fit together, whatever the others
  // are.
  bool decides = true;

  // "top-n", as the command line has it.
  std::string name() const;
  // "top_n", as settings have it.
  std::string key() const;
};

// Give the value that it has at the moment: as settings record it, and in words.
nlohmann::ordered_json option_setting(const Option& option);
std::string option_text(const Option& option);

// Records all of them in `settings`, each under its key.
void write_settings(const std::vector<Option>& options, nlohmann::ordered_json& settings);

// Make the options that several structs have; `owner` is the struct's name.
Option normalizer_option(const std::string& owner, std::string& normalizer);
Option threads_option(const std::string& owner, int& threads);
Option seed_option(const std::string& owner, std::uint64_t& seed);

// Finds the option of that name; throws std::logic_error where there is none.
Option& find_option(std::vector<Option>& options, std::string_view name);

}  // namespace headgauge
