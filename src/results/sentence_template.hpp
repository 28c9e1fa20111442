// Templates of sentences, as catalogue/ has them in `sentences` (CONTRIBUTING.md, "Add a
// sentence"). A template has words, {places} and [parts], which vanish if a place in them has no
// value.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headgauge/array.hpp"

namespace headgauge::templates {

// What a place names, such as "max entropy among awake" or "loss.low at run 1".
struct Term {
  enum class Kind { number, label, heads, flags, cutoff, any, metric, given };
  enum class Part { value, error, low, high, p, rows };
  Kind kind = Kind::given;
  std::string name;  // the number, coordinate, flag, metric or name
  Part part = Part::value;
  bool head = false;  // the head itself, not its value
  int sign = 0;       // 1 for the head with the largest value, -1 for the smallest
  std::string among = "compared";                   // of these heads
  std::optional<std::pair<std::string, Index>> at;  // a place along a dim
  std::shared_ptr<const Term> of;                   // a head or a place that has the value
};

struct Node;
using Template = std::vector<Node>;

// How a cell is written: 3 digits; with sign and 4 decimals; that with its error; times 100; whole;
// 2 digits.
enum class Format { number, nats, with_error, percent, whole, short_number };

struct Node {
  enum class Kind {
    words,      // `words`
    place,      // `term` as `format` says
    plural,     // branches[0] if `term` is 1, else branches[1]
    condition,  // nothing; has no value unless `term` has one, and it compares so with `other`
    either,     // the first branch that has a value
    part,       // that, or nothing
    each,       // branches[0] for each of the list `term`, with separators between
    join        // the branches that have a value, with separators between
  };
  Kind kind = Kind::words;
  std::string words;  // of a condition: the operator
  Term term = {}, other = {};
  bool negated = false;
  Format format = Format::number;
  std::vector<Template> branches = {};
  std::string between = {}, before_last = {};
};

// What templates may name.
struct Known {
  std::function<bool(std::string_view)> metric, flag, given;
  std::map<std::string, std::string> phrases;  // text for {name $}, with $ for what follows
};

// Parses a template. Throws std::logic_error, which names `place`, if it is malformed or names
// something unknown.
Template parse(std::string_view text, const Known& known, const std::string& place);

// Parses conditions, separated by commas.
Template parse_conditions(const std::string& text, const Known& known, const std::string& place);

}  // namespace headgauge::templates
