#include "headgauge/parameters.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <stdexcept>

namespace headgauge {
namespace {

// Parses `text` as one number; nothing if it is not a number.
std::optional<double> parse_number(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

// Writes "a whole number of at least 2 up to 32".
std::string domain_text(const NumberDomain& domain, const std::string& highest) {
  std::string text = domain.whole ? "a whole number" : "a number";
  if (domain.lowest > -1e30) {
    text += fmt::format(" {} {}", domain.above ? "above" : "of at least", domain.lowest);
  }
  if (!highest.empty()) text += " up to " + highest;
  return text;
}

}  // namespace

bool NumberDomain::contains(double value) const {
  return std::isfinite(value) && (above ? value > lowest : value >= lowest) && value <= highest &&
         (!whole || value == std::floor(value));
}

std::string NumberDomain::text() const {
  return domain_text(*this, highest < 1e30 ? fmt::format("{}", highest) : "");
}

std::string Parameter::takes() const {
  std::string text = at_most.empty() ? domain.text() : domain_text(domain, at_most);
  for (const std::string& word : words) text += " or " + word;
  return text;
}

Parameters::Parameters(std::span<const Parameter> declared) {
  for (const Parameter& parameter : declared) entries_.push_back({parameter, parameter.initial});
}

std::vector<Parameter> Parameters::declared() const {
  std::vector<Parameter> list;
  for (const Entry& entry : entries_) list.push_back(entry.parameter);
  return list;
}

const Parameters::Entry& Parameters::at(std::string_view key) const {
  for (const Entry& entry : entries_) {
    if (entry.parameter.key == key) return entry;
  }
  throw std::out_of_range("no parameter " + std::string(key));
}

void Parameters::give(std::string_view key, ParameterValue value) {
  for (auto& [parameter, own, given] : entries_) {
    if (parameter.key != key) continue;
    own = std::move(value);
    given = true;
  }
}

NumberDomain Parameters::domain(const Parameter& parameter) const {
  NumberDomain bounded = parameter.domain;
  if (!parameter.at_most.empty()) bounded.highest = number(parameter.at_most);
  return bounded;
}

bool Parameters::is_number(std::string_view key) const {
  return std::holds_alternative<double>(at(key).value);
}

double Parameters::number(std::string_view key) const {
  const Entry& entry = at(key);
  const double value = std::get<double>(entry.value);
  if (entry.given || entry.parameter.at_most.empty()) return value;
  return std::min(value, number(entry.parameter.at_most));
}

const std::string& Parameters::word(std::string_view key) const {
  return std::get<std::string>(at(key).value);
}

bool Parameters::set(std::string_view key, double value) {
  const Parameter& parameter = at(key).parameter;
  if (!domain(parameter).contains(value)) return false;
  give(key, value);
  return true;
}

bool Parameters::set(std::string_view key, std::string_view value) {
  const Parameter& parameter = at(key).parameter;
  if (std::ranges::find(parameter.words, value) == parameter.words.end()) {
    const std::optional<double> number = parse_number(value);
    return number && set(key, *number);
  }
  give(key, std::string(value));
  return true;
}

std::string Parameters::expected(std::string_view key) const {
  return domain(at(key).parameter).text();
}

std::string Parameters::text() const {
  std::string text;
  for (const auto& [parameter, value, given] : entries_) {
    text += fmt::format(
        "{}{}={}", text.empty() ? "" : ",", parameter.key,
        is_number(parameter.key) ? fmt::format("{}", number(parameter.key)) : word(parameter.key));
  }
  return text;
}

}  // namespace headgauge
