// Builds the sentences of a summary.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headgauge/cells.hpp"
#include "headgauge/results.hpp"

namespace headgauge::summary {

// Builds a sentence piece by piece and records the source of each number.
class Line {
 public:
  using Kind = FactSource::Kind;

  Line& say(std::string_view words) {
    line_.text += words;
    return *this;
  }
  Line& head(const HeadName& name) { return say("head ").head_name(name); }
  Line& head_name(const HeadName& name) {
    line_.heads.push_back(name.text());
    return say(line_.heads.back());
  }
  Line& number(const MetricCell& cell, double scale = 1) {
    return fact(
        {rounded(cell.value * scale), {Kind::cell, cell.metric, cell.index}, cell.value, scale});
  }
  // Adds a change of the loss with 4 decimals, because small changes matter.
  Line& nats(const MetricCell& cell) {
    return fact(
        {fmt::format("{:+.4f}", cell.value), {Kind::cell, cell.metric, cell.index}, cell.value});
  }
  // Adds the standard error of a cell.
  Line& error(const MetricCell& cell) {
    return fact({rounded(cell.standard_error),
                 {Kind::standard_error, cell.metric, cell.index},
                 cell.standard_error});
  }
  // Add the ends of a cell's interval as number() and nats() would, and its p.
  Line& ends(const MetricCell& cell, double scale = 1) {
    end(Kind::low, cell, cell.low, scale).say(" to ");
    return end(Kind::high, cell, cell.high, scale);
  }
  Line& ends_in_nats(const MetricCell& cell) {
    const auto end = [&](Kind kind, double value) {
      fact({fmt::format("{:+.4f}", value), {kind, cell.metric, cell.index}, value});
    };
    end(Kind::low, cell.low);
    say(" to ");
    end(Kind::high, cell.high);
    return *this;
  }
  Line& p(const MetricCell& cell) { return end(Kind::p, cell, cell.p, 1); }
  // Adds a whole number.
  Line& whole(FactSource source, double value) {
    return fact({fmt::format("{:.0f}", value), std::move(source), value});
  }
  Line& whole(const MetricCell& cell) {
    return whole({Kind::cell, cell.metric, cell.index}, cell.value);
  }
  Line& derived(double value) { return whole({Kind::derived}, value); }
  // Adds the label at index `place` of a coordinate of whole numbers.
  Line& label(const Results& results, const std::string& coord, Index place) {
    return whole({Kind::coordinate, coord, {place}}, results.coord_numbers(coord)[place]);
  }
  Line& longest(const Results& results) {
    return label(results, "length", results.coord_size("length") - 1);
  }
  Line& flags(const std::string& name, double count) { return whole({Kind::flags, name}, count); }
  Line& constant(const std::string& text) {
    return fact({text, {Kind::constant}, std::stod(text)});
  }
  Line& fact(Fact fact) {
    line_.text += fact.text;
    line_.facts.push_back(std::move(fact));
    return *this;
  }
  SummaryLine done() { return std::move(line_); }

 private:
  Line& end(Kind kind, const MetricCell& cell, double value, double scale) {
    return fact({rounded(value * scale), {kind, cell.metric, cell.index}, value, scale});
  }

  SummaryLine line_;
};

using MaybeLine = std::optional<SummaryLine>;

// Returns "At L = 512, ", or "At L = 498 to 512, " if the lengths differ; nothing if there are
// none.
inline std::string at_lengths(std::span<const Index> tokens) {
  if (tokens.empty()) return {};
  const auto [least, most] = std::ranges::minmax(tokens);
  return fmt::format("At L = {}{}, ", least < most ? fmt::format("{} to ", least) : "", most);
}

// Returns that of the cases of all tasks.
inline std::string at_case_lengths(const Results& results) {
  std::vector<Index> tokens;
  for (const TaskRecord& task : results.text.tasks) {
    tokens.insert(tokens.end(), {task.shortest, task.tokens});
  }
  return at_lengths(tokens);
}

inline constexpr const char* kFarBack =
    "The loss of text does not show whether the model still finds tokens far back.";

// Adds to a sentence what it means for the reader and which command to run next
// (results/next_commands.hpp).
inline MaybeLine explained(MaybeLine line, std::string_view means, std::string_view next) {
  if (line) {
    line->means = means;
    line->next = next;
  }
  return line;
}

}  // namespace headgauge::summary
