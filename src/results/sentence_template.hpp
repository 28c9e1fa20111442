// The parts of the templates of sentences (CONTRIBUTING.md, "Add a sentence").
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headgauge/array.hpp"

namespace headgauge::templates {

// A part of a template: words, a {place}, or [text] that vanishes if a place in it has no value.
struct Piece {
  enum class Kind { words, place, optional };
  Kind kind = Kind::words;
  std::string_view text;  // without the brackets
};

// Takes a template apart; throws std::logic_error if its brackets are not closed.
std::vector<Piece> pieces(std::string_view text);

// Takes texts between bars apart.
std::vector<std::string_view> alternatives(std::string_view text);

// A term of a place: "max entropy among awake", "loss.low at run 1", "flags slow", "3".
struct Term {
  std::string_view verb;           // max, min, flags, cutoff, label, any, or nothing
  std::string name;                // of a metric, a flag, a coordinate, what is given, or a number
  std::string part;                // of an estimate: error, low, high, p, rows, or nothing
  std::string among;               // these heads
  std::string dim;                 // a place along it
  Index place = 0;                 // negative ones count from the end
  bool head = false;               // the head itself, not its value
  std::shared_ptr<const Term> of;  // a head or a place that has the value
};
Term parse_term(const std::string& text);

// A condition: whether the left term has a value, and compares so with the right one.
struct Condition {
  Term left;
  std::string op;  // =, !=, <, >, <=, >=, or nothing
  std::optional<Term> right;
  bool negated = false;
};
Condition parse_condition(const std::string& text);

// What begins "each NAME 'between' 'before the last' text" after the first word; `join` has no
// name.
struct List {
  std::string name, between, before_last;
  std::string_view text;
};
List parse_list(std::string_view text);

}  // namespace headgauge::templates
