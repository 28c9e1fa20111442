// Values of options from what is typed, or what a program gives.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>

#include "headgauge/base.hpp"
#include "headgauge/options.hpp"
#include "headgauge/text.hpp"

namespace headgauge {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kMostPoints = 1000;
constexpr std::string_view kRange = "FIRST:LAST:COUNT";
constexpr const char* kCorrect = "; correct the list";

// The form of options that take specs of normalizers or patterns.
constexpr std::string_view kSpecs = "NAME[:KEY=VALUE],...";

// What set_option() complains about, without the name of the option.
struct Misfit {
  std::string text;
};

std::string typed(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

[[noreturn]] void misfit(std::string_view expected, const Json& found, const char* advice = "") {
  throw Misfit{fmt::format("expected {}, found {}{}", expected, in_quotes(typed(found)), advice)};
}

std::vector<std::string> split_at(std::string_view text, char separator) {
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

// Splits a list of specs: a part after a comma that has the form key=value belongs to the spec
// before it.
std::vector<std::string> split_specs(std::string_view list) {
  std::vector<std::string> specs;
  for (std::string& part : split_at(list, ',')) {
    const std::size_t equals = part.find('='), colon = part.find(':');
    if (!specs.empty() && equals != part.npos && equals < colon) {
      specs.back().append(1, ',').append(part);
    } else {
      specs.push_back(std::move(part));
    }
  }
  return specs;
}

// A number of that type that is all of the value; nothing for anything else.
template <class T>
std::optional<T> number_in(const Json& value) {
  if (value.is_number_float()) {
    const double number = value.get<double>();
    if constexpr (std::is_floating_point_v<T>) return number;
    // Coordinates of results are floats: 32.0 is a whole number.
    if (number != std::floor(number) || std::abs(number) >= 0x1p53) return std::nullopt;
    if (std::is_unsigned_v<T> && number < 0) return std::nullopt;
    return static_cast<T>(number);
  }
  if (value.is_boolean()) return std::nullopt;
  const std::string text = typed(value);
  T number{};
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || stop != text.data() + text.size()) return std::nullopt;
  return number;
}

// Sets a member of any kind.
class Setter {
 public:
  Setter(const Option& option, const Json& value) : option_(option), value_(value) {}

  void operator()(bool* member) const {
    if (value_.is_boolean()) {
      *member = value_.get<bool>();
      return;
    }
    *member = one_of({"true", "false"}) == 0;
  }
  void operator()(int* member) const { *member = is_none() ? 0 : whole(); }
  void operator()(double* member) const { *member = real(value_); }
  template <class T>
  void operator()(std::optional<T>* member) const {
    T value{};
    operator()(&value);
    *member = value;
  }
  void operator()(std::uint64_t* member) const {
    const auto number = number_in<std::uint64_t>(value_);
    if (!number) misfit("a whole number from 0 to 2^64 - 1", value_);
    *member = *number;
  }
  void operator()(std::string* member) const {
    if (option_.none == typed(value_) && !option_.none.empty()) {
      member->clear();
      return;
    }
    if (option_.form.find('|') != option_.form.npos) one_of(split_at(option_.form, '|'));
    if (!value_.is_array()) {
      *member = text(value_);
      return;
    }
    std::vector<std::string> parts;
    for (const Json& part : value_) parts.push_back(text(part));
    *member = fmt::format("{}", fmt::join(parts, ","));
  }
  void operator()(std::vector<std::string>* member) const {
    std::vector<std::string> words;
    if (!is_none()) {
      for (const Json& item : items()) {
        if (option_.form != kSpecs) {
          words.push_back(text(item));
          continue;
        }
        for (std::string& spec : split_specs(text(item))) words.push_back(std::move(spec));
      }
    }
    *member = std::move(words);
  }
  void operator()(Texts* member) const {
    std::vector<std::string> files;
    operator()(&files);
    *member = text_files(files);
  }
  template <class T>
  void operator()(std::vector<T>* member) const {
    std::vector<T> numbers;
    if (is_range()) {
      // Whole numbers are meant, not what pow() leaves of them.
      for (const double n : range()) {
        numbers.push_back(std::is_integral_v<T> ? static_cast<T>(std::clamp(n + 1e-6, 0.0, 2e9))
                                                : static_cast<T>(n));
      }
    } else if (!is_none()) {
      for (const Json& item : items()) numbers.push_back(in_list<T>(item));
    }
    *member = std::move(numbers);
  }
  void operator()(const Choice& member) const { member.set(one_of(member.words)); }

 private:
  // Whether the value is the word for an empty one.
  bool is_none() const { return !option_.none.empty() && typed(value_) == option_.none; }

  // The items of a list, which may be typed as one word.
  std::vector<Json> items() const {
    if (value_.is_array()) return value_.get<std::vector<Json>>();
    if (!value_.is_string() || !is_one_word(option_)) return {value_};
    std::vector<Json> items;
    for (std::string& part : split_at(value_.get<std::string>(), ',')) items.emplace_back(part);
    return items;
  }

  template <class T>
  T in_list(const Json& item) const {
    if (std::is_floating_point_v<T> && !option_.form.ends_with(kRange)) {
      return static_cast<T>(real(item));
    }
    if (const auto number = number_in<T>(item)) return *number;
    misfit(std::is_integral_v<T> ? "whole numbers separated by commas"
                                 : "numbers separated by commas, or FIRST:LAST:COUNT",
           value_, kCorrect);
  }

  bool is_range() const {
    return value_.is_string() && option_.form.ends_with(kRange) &&
           typed(value_).find(':') != std::string::npos;
  }
  std::vector<double> range() const {
    std::vector<double> parts;
    for (const std::string& part : split_at(typed(value_), ':')) {
      parts.push_back(number_in<double>(part).value_or(kUndefined));
    }
    const auto is_size = [](double n) { return n > 0 && std::isfinite(n); };
    if (parts.size() != 3 || !std::ranges::all_of(parts, is_size) ||
        parts[2] != std::floor(parts[2]) || parts[2] > kMostPoints) {
      misfit("FIRST:LAST:COUNT, numbers above 0 and how many from 1 to 1000", value_,
             "; correct the range");
    }
    return geometric(parts[0], parts[1], static_cast<int>(parts[2]));
  }

  int whole() const {
    const auto number = number_in<int>(value_);
    if (number && *number >= option_.least && *number <= option_.most) return *number;
    const std::string expected =
        option_.most == std::numeric_limits<int>::max()
            ? fmt::format("a whole number of at least {}", option_.least)
            : fmt::format("a whole number from {} to {}", option_.least, option_.most);
    const std::string advice =
        option_.none.empty() ? "" : fmt::format("; give {}, or a number", option_.none);
    misfit(expected, value_, advice.c_str());
  }
  double real(const Json& value) const {
    const auto number = number_in<double>(value);
    const bool bounded = option_.least != std::numeric_limits<int>::min();
    if (number && *number < option_.below && (bounded ? *number >= option_.least : *number > 0)) {
      return *number;
    }
    const std::string from = bounded ? fmt::format("of at least {}", option_.least) : "above 0";
    misfit(std::isinf(option_.below) ? fmt::format("a finite number {}", from)
                                     : fmt::format("a number {} and below {}", from, option_.below),
           value);
  }
  std::string text(const Json& value) const {
    const std::string text = typed(value);
    if (text.empty() && !option_.expects.empty()) misfit(option_.expects, value);
    return text;
  }
  std::size_t one_of(const std::vector<std::string>& words) const {
    const auto found = std::ranges::find(words, typed(value_));
    if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
    throw Misfit{fmt::format("expected one of {}, found {}{}", fmt::join(words, ", "),
                             in_quotes(typed(value_)), did_you_mean(typed(value_), words))};
  }

  const Option& option_;
  const Json& value_;
};

}  // namespace

bool is_one_word(const Option& option) {
  const std::string item = option.form.substr(0, option.form.find_first_of(",|"));
  return option.form.starts_with(item + "," + item + "...");
}

std::string try_to_set(const Option& option, const Json& value) {
  try {
    std::visit(Setter(option, value), option.value);
    return "";
  } catch (const Misfit& misfit) {
    return misfit.text;
  }
}

void set_option(const Option& option, const Json& value) {
  const std::string complaint = try_to_set(option, value);
  if (!complaint.empty()) throw UsageError(fmt::format("{}: {}", option.member, complaint));
}

}  // namespace headgauge
