// Parameters of normalizers and patterns, declared as data, with the values that a spec
// "name:key=value,..." gives them.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "headgauge/base.hpp"

namespace headgauge {

// The finite numbers that a parameter accepts.
struct NumberDomain {
  double lowest = -1e30;
  double highest = 1e30;
  bool above = false;  // excludes `lowest` itself
  bool whole = false;
  bool contains(double value) const;
  std::string text() const;  // "a whole number of at least 1 up to 32"
};

using ParameterValue = std::variant<double, std::string>;

struct Parameter {
  std::string key;
  ParameterValue initial = 0.0;  // the value if none is given
  NumberDomain domain{};
  std::vector<std::string> words{};  // words that it accepts in addition to numbers
  std::string at_most{};             // key of an earlier parameter whose value bounds this one
  // Describes the accepted values: "a number above 0", "a number or -logn".
  std::string takes() const;
};

// The parameters of one normalizer or pattern, in the order of their declaration, with their
// values. Throws std::out_of_range for an undeclared key, and std::bad_variant_access if a number
// is asked for and the value is a word, or the reverse.
class Parameters {
 public:
  Parameters() = default;
  explicit Parameters(std::span<const Parameter> declared);
  Parameters(std::initializer_list<Parameter> declared)
      : Parameters(std::span(declared.begin(), declared.size())) {}

  bool empty() const { return entries_.empty(); }
  std::vector<Parameter> declared() const;
  bool given(std::string_view key) const { return at(key).given; }
  bool is_number(std::string_view key) const;
  double number(std::string_view key) const;
  Index whole(std::string_view key) const { return static_cast<Index>(number(key)); }
  const std::string& word(std::string_view key) const;
  // Sets a value; returns false and sets nothing if the parameter does not accept it.
  [[nodiscard]] bool set(std::string_view key, double value);
  [[nodiscard]] bool set(std::string_view key, std::string_view value);
  // Describes what set() accepts for a key, given the values of the other parameters.
  std::string expected(std::string_view key) const;
  // Returns the parameters with their values: "s=0.43,b=0".
  std::string text() const;

 private:
  struct Entry {
    Parameter parameter;
    ParameterValue value;
    bool given = false;
  };
  const Entry& at(std::string_view key) const;
  void give(std::string_view key, ParameterValue value);
  // Returns the domain, narrowed by the bound that another parameter sets.
  NumberDomain domain(const Parameter& parameter) const;

  std::vector<Entry> entries_;
};

}  // namespace headgauge
