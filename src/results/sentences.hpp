// Makes sentences from the templates of the catalogue and from what the program computes for them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "headgauge/cells.hpp"
#include "headgauge/results.hpp"

namespace headgauge {

// Places along dims, and a head if they are those of one.
using Picks = std::vector<std::pair<std::string, Index>>;
struct Spot {
  Picks picks = {};
  std::optional<HeadName> head = std::nullopt;
};
Spot spot_of(const HeadName& head);

// What a template may name besides the results: words, numbers, cells, places, heads and lists.
struct Scope;
using Given =
    std::variant<std::string, Fact, MetricCell, Spot, std::vector<HeadName>, std::vector<Scope>>;

// A computed number: whole, or in these words.
Fact computed(double value);
Fact computed(double value, std::string text);

// Names for one place in a template, and where it takes the cells of metrics.
struct Scope {
  Scope() = default;
  explicit Scope(Picks at) : picks(std::move(at)) {}

  // Gives a name a value; nothing if there is none.
  template <class Value>
  Scope& give(const std::string& name, std::optional<Value> value) {
    if (value) names.insert_or_assign(name, *std::move(value));
    return *this;
  }
  Scope& give(const std::string& name, Given value) {
    names.insert_or_assign(name, std::move(value));
    return *this;
  }
  // Gives a whole number a name.
  template <class Number>
  Scope& count(const std::string& name, Number number) {
    return give(name, computed(static_cast<double>(number)));
  }
  // Gives a name that only conditions use.
  Scope& give_if(const std::string& name, bool holds) {
    return holds ? give(name, Given(std::string())) : *this;
  }

  std::map<std::string, Given> names = {};
  Picks picks = {};
};

// The label at an index of a coordinate.
Fact label_of(const Results& results, const std::string& coord, Index place);

// Makes all sentences about a subject that the results support.
std::vector<SummaryLine> sentences_about(std::string_view subject, const Results& results,
                                         const Scope& scope);

// Adds them to others.
void add_sentences(std::string_view subject, const Results& results, const Scope& scope,
                   std::vector<SummaryLine>& lines);

// Makes one sentence; nothing if a place outside its [parts] has no value.
std::optional<SummaryLine> make_sentence(std::string_view name, const Results& results,
                                         const Scope& scope);

// Returns the command of that name: in backticks, and what it shows. MODEL, TEXT, TASKS and HEAD
// are placeholders for the user's own, CHANGE for what a comparison compared, PLAN for the plan
// that was made.
const std::string& next_command(std::string_view name);

}  // namespace headgauge
