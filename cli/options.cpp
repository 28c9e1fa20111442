#include "cli/options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "cli/table_style.hpp"
#include "cli/usage.hpp"
#include "headgauge/base.hpp"
#include "headgauge/catalogue.hpp"
#include "headgauge/synthetic.hpp"

namespace headgauge::cli {
namespace {

constexpr int kMostPoints = 1000;
constexpr const char* kRange = "FIRST:LAST:COUNT";

// Parses the whole of a list; `what` says what was expected.
template <class T>
std::vector<T> parse_list(const std::string& text, char separator, const std::string& option,
                          const char* what) {
  std::vector<T> values;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (true) {
    T value = 0;
    const auto [stop, error] = std::from_chars(at, end, value);
    if (error != std::errc{} || (stop != end && *stop != separator)) {
      throw UsageError(fault(option, what, "\"" + text + "\"", "correct the list"));
    }
    values.push_back(value);
    if (stop == end) return values;
    at = stop + 1;
  }
}

// "0.1,1,10", or "FIRST:LAST:COUNT" for geometric ones; `option` names it in the UsageError for
// anything else.
std::vector<double> parse_numbers(const std::string& text, const std::string& option) {
  constexpr const char* kNumbers = "numbers separated by commas, or FIRST:LAST:COUNT";
  if (text.find(':') == text.npos) return parse_list<double>(text, ',', option, kNumbers);
  const auto range = parse_list<double>(text, ':', option, kNumbers);
  if (range.size() != 3 || !(range[0] > 0) || !(range[1] > 0) || !std::isfinite(range[0]) ||
      !std::isfinite(range[1]) || range[2] != std::floor(range[2]) || range[2] < 1 ||
      range[2] > kMostPoints) {
    throw UsageError(fault(option, "FIRST:LAST:COUNT, numbers above 0 and how many from 1 to 1000",
                           fmt::format("\"{}\"", text), "correct the range"));
  }
  return geometric(range[0], range[1], static_cast<int>(range[2]));
}

// "32,64" as numbers, and a range as well where `range` says so.
std::vector<int> parse_integers(const std::string& text, const std::string& option, bool range) {
  if (!range || text.find(':') == text.npos) {
    return parse_list<int>(text, ',', option, "whole numbers separated by commas");
  }
  std::vector<int> numbers;
  for (const double n : parse_numbers(text, option)) {
    // Whole numbers are meant, not what pow() leaves of them; whether they make sense is checked
    // with the rest.
    numbers.push_back(static_cast<int>(std::clamp(n + 1e-6, 0.0, 2e9)));
  }
  return numbers;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

// "N,N..." or "NAME[:KEY=VALUE],...", and the patterns of layers and heads.
constexpr const char* kPatterns = "LIST";

// "T,T..." is typed as one word, "FILE..." as several.
bool one_word(const std::string& form) {
  const std::string item = form.substr(0, form.find(','));
  return form == item + "," + item + "...";
}

// Whether the word for an empty value or 0 can be typed.
bool has_none(const Option& option) {
  return !option.none.empty() && option.form.ends_with("|" + option.none);
}

// Broken into the column beside the names, which main.cpp makes 26 wide.
std::string in_column(const std::string& help) {
  return wrapped(help, kTableWidth - 26, 0);
}

// Adds an option whose member is of the kind at hand.
class Adder {
 public:
  Adder(CLI::App& command, const Option& option)
      : command_(command), option_(option), name_("--" + option.name()), help_(help_text(option)) {}

  static std::string help_text(const Option& option) {
    std::string help = option.help;
    const std::size_t at = help.find("{}");
    return at == help.npos ? help : help.replace(at, 2, option_text(option));
  }

  CLI::Option* operator()(bool* value) const {
    if (option_.form.empty()) return command_.add_flag(name_, *value, in_column(help_));
    return add(*value)->check(one_of(split(option_.form, '|')));
  }
  CLI::Option* operator()(int* value) const {
    const CLI::Validator number = whole_number(option_.least, option_.most);
    if (!has_none(option_)) return add(*value)->check(number);
    return parsed([=, none = option_.none](const std::string& text) {
             *value = text == none ? 0 : std::stoi(text);
           })
        ->check([=, none = option_.none](const std::string& text) {
          return text == none ? std::string() : number(text);
        });
  }
  CLI::Option* operator()(double* value) const {
    return add(*value)->check(positive_number(option_.below));
  }
  CLI::Option* operator()(std::optional<double>* value) const {
    return add(*value)->check(positive_number(option_.below));
  }
  CLI::Option* operator()(std::uint64_t* value) const { return add(*value)->check(seed_number()); }
  CLI::Option* operator()(std::string* value) const {
    CLI::Option* added = add(*value);
    if (option_.form.find('|') != option_.form.npos) {
      added->check(one_of(split(option_.form, '|')));
    }
    return added;
  }
  CLI::Option* operator()(std::vector<std::string>* value) const {
    CLI::Option* added = add(*value);
    if (one_word(option_.form)) added->delimiter(',');
    return added;
  }
  CLI::Option* operator()(std::vector<double>* value) const {
    if (option_.form.ends_with(kRange)) {
      return parsed(
          [=, name = name_](const std::string& text) { *value = parse_numbers(text, name); });
    }
    return add(*value)->delimiter(',')->check(positive_number(option_.below));
  }
  CLI::Option* operator()(std::vector<int>* value) const {
    return parsed(
        [=, name = name_, range = option_.form.ends_with(kRange),
         none = has_none(option_) ? option_.none : std::string()](const std::string& text) {
          value->clear();
          if (none.empty() || text != none) *value = parse_integers(text, name, range);
        });
  }
  CLI::Option* operator()(std::optional<int>* value) const {
    return parsed([=, name = name_, none = option_.none,
                   number = whole_number(option_.least, option_.most)](const std::string& text) {
      if (text == none) {
        *value = 0;
        return;
      }
      const std::string unfit = number(text);
      if (!unfit.empty()) {
        throw UsageError(fmt::format("{}: {}; give {}, or a number", name, unfit, none));
      }
      *value = std::stoi(text);
    });
  }
  CLI::Option* operator()(const Choice& value) const {
    return parsed([=](const std::string& text) {
             value.set(static_cast<std::size_t>(std::ranges::find(value.words, text) -
                                                value.words.begin()));
           })
        ->check(one_of(split(option_.form, '|')));
  }

 private:
  template <class T>
  CLI::Option* add(T& value) const {
    return command_.add_option(name_, value, in_column(help_));
  }
  CLI::Option* parsed(std::function<void(const std::string&)> parse) const {
    return command_.add_option_function<std::string>(name_, std::move(parse), in_column(help_));
  }

  CLI::App& command_;
  const Option& option_;
  std::string name_;
  std::string help_;
};

struct Declared {
  std::string command;
  Option option;
  std::string help;
};

constexpr std::string_view kGroups = "{groups}";

std::string with_groups(std::string help) {
  const std::size_t at = help.find(kGroups);
  if (at == help.npos) return help;
  return help.replace(at, kGroups.size(), fmt::format("{}", fmt::join(measure_groups(), ", ")));
}

// Of the command line that this thread builds.
std::vector<Declared>& all_declared() {
  static thread_local std::vector<Declared> all;
  return all;
}

}  // namespace

std::string full_name(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  const bool nested = parent != nullptr && parent->get_parent() != nullptr;
  return (nested ? parent->get_name() + " " : "") + command.get_name();
}

void add_options(CLI::App& command, const std::vector<Option>& options) {
  for (const Option& option : options) {
    CLI::Option* added = std::visit(Adder(command, option), option.value);
    if (!option.group.empty()) added->group(option.group);
    if (!option.form.empty()) added->option_text(option.form);
    if (!option.expects.empty()) added->check(some_text(option.expects));
    if (!option.excludes.empty()) added->excludes(command.get_option("--" + option.excludes));
    const std::string help = Adder::help_text(option);
    all_declared().push_back({full_name(command), option, help});
    if (help.find(kGroups) == help.npos) continue;
    // The catalogue is read where this command runs, not at every start.
    command.preparse_callback(
        [added, help](std::size_t) { added->description(in_column(with_groups(help))); });
  }
}

void forget_declared_options() {
  all_declared().clear();
}

const Option* declaration(const CLI::App& command, const CLI::Option& option) {
  if (option.get_lnames().empty()) return nullptr;
  const auto found = std::ranges::find_if(all_declared(), [&](const Declared& declared) {
    return declared.option.name() == option.get_lnames().front() &&
           declared.command == full_name(command);
  });
  return found == all_declared().end() ? nullptr : &found->option;
}

bool takes_list(const Option& option) {
  return option.form == kPatterns || option.form.find(",") != option.form.npos;
}

bool takes_numbers(const Option& option) {
  return option.form == kPatterns || std::holds_alternative<std::vector<int>*>(option.value) ||
         std::holds_alternative<std::vector<double>*>(option.value);
}

nlohmann::ordered_json declared_options() {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Declared& declared : all_declared()) {
    const Option& option = declared.option;
    list.push_back({{"command", declared.command},
                    {"name", option.name()},
                    {"form", option.form},
                    {"group", option.group},
                    {"help", with_groups(declared.help)},
                    {"details", option.details}});
  }
  return list;
}

Option json_option(bool& json) {
  return {.member = "OutputOptions::json",
          .value = &json,
          .form = "",
          .group = "",
          .help = "Print JSON"};
}

std::vector<Option> only(std::vector<Option> options, const std::vector<std::string>& names) {
  std::erase_if(options, [&](const Option& option) {
    return std::ranges::find(names, option.name()) == names.end();
  });
  return options;
}

std::vector<Option> without(std::vector<Option> options, const std::vector<std::string>& names) {
  std::erase_if(options, [&](const Option& option) {
    return std::ranges::find(names, option.name()) != names.end();
  });
  return options;
}

}  // namespace headgauge::cli
