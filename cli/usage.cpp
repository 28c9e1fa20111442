#include "cli/usage.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <utility>

#include "headgauge/base.hpp"
#include "headgauge/text.hpp"

namespace headgauge::cli {
namespace {

std::string expected(const std::string& what, const std::string& found) {
  return fmt::format("expected {}, found {}", what, in_quotes(found));
}

// The whole text as a number.
template <class T>
bool read(const std::string& text, T& value) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc{} && stop == end;
}

// A check that knows what it expects.
template <class Fits>
CLI::Validator check(std::string what, Fits fits) {
  return CLI::Validator(
      [what = std::move(what), fits = std::move(fits)](const std::string& text) {
        return fits(text) ? std::string() : expected(what, text);
      },
      "");
}

// How many characters to insert, drop or replace to make one word of the other.
std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j < row.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({changed, row[j] + 1, row[j - 1] + 1}));
    }
  }
  return row.back();
}

// ", did you mean X" for the nearest of the words, if one is near.
std::string suggestion(std::string_view word, const std::vector<std::string>& words) {
  constexpr std::size_t kNear = 3;
  const auto nearest = std::ranges::min_element(
      words, {}, [&](const std::string& other) { return edits(word, other); });
  if (nearest == words.end()) return "";
  const std::size_t distance = edits(word, *nearest);
  const bool near = distance < kNear && 2 * distance <= nearest->size();
  return near ? " (did you mean " + *nearest + "?)" : "";
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!command->get_group().empty()) names.push_back(command->get_name());
  }
  return names;
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// "MODEL" of "MODEL is required", "--out" of "--out: 1 required TEXT missing".
std::string option_of(const std::string& message) {
  return message.substr(0, message.find_first_of(": "));
}

}  // namespace

CLI::Validator whole_number(long long least, long long most) {
  const bool open = most == std::numeric_limits<int>::max();
  return check(open ? fmt::format("a whole number of at least {}", least)
                    : fmt::format("a whole number from {} to {}", least, most),
               [=](const std::string& text) {
                 long long value = 0;
                 return read(text, value) && value >= least && value <= most;
               });
}

CLI::Validator seed_number() {
  return check("a whole number from 0 to 2^64 - 1", [](const std::string& text) {
    std::uint64_t value = 0;
    return read(text, value);
  });
}

CLI::Validator positive_number(double below) {
  return check(std::isinf(below) ? std::string("a finite number above 0")
                                 : fmt::format("a number above 0 and below {}", below),
               [=](const std::string& text) {
                 double value = 0;
                 return read(text, value) && value > 0 && value < below;
               });
}

CLI::Validator one_of(std::vector<std::string> words) {
  const std::string list = fmt::format("{}", fmt::join(words, ", "));
  return check("one of " + list, [words = std::move(words)](const std::string& text) {
    return std::ranges::find(words, text) != words.end();
  });
}

CLI::Validator some_text(std::string what) {
  return check(std::move(what), [](const std::string& text) { return !text.empty(); });
}

std::string usage_message(const CLI::App& app, const CLI::ParseError& error) {
  // As far as commands were named: a command may have commands of its own.
  const CLI::App* last = &app;
  std::string name;
  while (!last->get_subcommands().empty()) {
    last = last->get_subcommands().front();
    name += (name.empty() ? "" : " ") + last->get_name();
  }
  const CLI::App& command = *last;
  const bool incomplete = !command_names(command).empty();
  const std::string advice = fmt::format("see headgauge {}{}--help", name, name.empty() ? "" : " ");
  if (name.empty()) name = "command line";
  const std::string what = error.what();
  const auto rest = app.remaining(true);

  if (incomplete) {
    const auto word = std::ranges::find_if(rest, [](const auto& w) { return !w.starts_with('-'); });
    const auto names = command_names(command);
    if (word == rest.end() && !rest.empty()) {
      return fault(name, "one of its options", in_quotes(rest.front()), advice);
    }
    return fault(name, fmt::format("a command ({})", fmt::join(names, ", ")),
                 word == rest.end() ? "none" : in_quotes(*word) + suggestion(*word, names), advice);
  }
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr && !rest.empty()) {
    const std::string& extra = rest.front();
    const bool option = extra.starts_with('-');
    return fault(name, option ? "one of its options" : "no further argument",
                 in_quotes(extra) + (option ? suggestion(extra, option_names(command)) : ""),
                 advice);
  }
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    // An unknown option may have swallowed what is missed.
    const auto unknown =
        std::ranges::find_if(rest, [](const auto& w) { return w.starts_with('-'); });
    if (unknown != rest.end()) {
      return fault(name, "one of its options",
                   in_quotes(*unknown) + suggestion(*unknown, option_names(command)), advice);
    }
    return fault(name, option_of(what), "none", advice);
  }
  if (dynamic_cast<const CLI::ExcludesError*>(&error) != nullptr) {
    return fault(name, "one of the two", "both, " + what, advice);
  }
  if (what.find("missing") != std::string::npos) {
    return fault(option_of(what), "a value", "none", advice);
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    // "--top: At Most 1 required but received 2"
    return fault(option_of(what), "to be given once", what.substr(what.rfind(' ') + 1) + " times",
                 "leave out all but one");
  }
  return what.substr(0, what.find('\n')) + "; " + advice;
}

}  // namespace headgauge::cli
