// How the lines of the summary are put together.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "results/longest.hpp"
#include "scan/summary.hpp"

namespace headgauge::summary {

inline constexpr double kSink = 0.3;        // as for the flag of that name
inline constexpr double kSensitive = 0.25;  // likewise
// Puts a line together piece by piece and keeps the record of its numbers.
class Line {
 public:
  Line& say(std::string_view words) {
    line_.text += words;
    return *this;
  }
  Line& head(const HeadName& name) {
    line_.heads.push_back(name.text());
    return say("head ").say(line_.heads.back());
  }
  Line& number(const Cell& cell, double scale = 1) {
    return fact({rounded(cell.value * scale), cell.metric, cell.index, cell.value, scale});
  }
  // The standard error of a cell.
  Line& error(const Cell& cell) {
    return fact({rounded(cell.stderr_), "stderr." + cell.metric, cell.index, cell.stderr_, 1});
  }
  // A number that is whole by nature.
  Line& whole(const std::string& metric, double value, std::vector<Index> cell = {}) {
    return fact({fmt::format("{:.0f}", value), metric, std::move(cell), value, 1});
  }
  Line& whole(const Cell& cell) { return whole(cell.metric, cell.value, cell.index); }
  Line& rule(const char* text) { return fact({text, "rule", {}, std::stod(text), 1}); }
  Line& fact(Fact fact) {
    line_.text += fact.text;
    line_.facts.push_back(std::move(fact));
    return *this;
  }
  SummaryLine done() { return std::move(line_); }

 private:
  SummaryLine line_;
};

struct HeadCell {
  HeadName head;
  Cell cell;
};

using MaybeLine = std::optional<SummaryLine>;

class Summary {
 public:
  explicit Summary(const Results& results) : results_(results), heads_(measured_heads(results)) {}

  bool possible() const { return longest_length(results_).has_value() && !heads_.empty(); }
  MaybeLine dispersion() const;
  MaybeLine roles() const;
  MaybeLine growth() const;
  MaybeLine outlook() const;
  MaybeLine critical() const;
  MaybeLine separability() const;
  MaybeLine spread() const;
  MaybeLine largest_key() const;
  MaybeLine advice() const;

 private:
  void temperature(Line& line) const;

  using Score = std::function<std::optional<double>(const HeadName&)>;

  std::optional<Cell> cell(std::string_view metric, const HeadName& head) const {
    return find_cell(results_, metric, {{"layer", head.layer_index}, {"head", head.head_index}});
  }
  double value(std::string_view metric, const HeadName& head) const {
    const auto found = cell(metric, head);
    return found ? found->value : kUndefined;
  }
  // The head of the highest score; the first of equal ones.
  std::optional<HeadName> best(const Score& score) const {
    std::optional<HeadName> found;
    double highest = 0;
    for (const HeadName& head : heads_) {
      const auto s = score(head);
      if (!s || std::isnan(*s) || (found && *s <= highest)) continue;
      found = head;
      highest = *s;
    }
    return found;
  }
  std::optional<HeadCell> extreme(std::string_view metric, double sign) const {
    const auto head = best([&](const HeadName& h) { return sign * value(metric, h); });
    if (!head) return std::nullopt;
    return HeadCell{*head, *cell(metric, *head)};
  }
  std::optional<HeadCell> largest(std::string_view metric) const { return extreme(metric, 1); }
  std::optional<HeadCell> smallest(std::string_view metric) const { return extreme(metric, -1); }

  Line& length(Line& line) const {
    const Index last = results_.coord_size("length") - 1;
    return line.say("L = ").whole("coords.length", *longest_length(results_), {last});
  }
  // "1 of 6 heads ONE" or "2 of 6 heads MANY".
  Line& flag_count(Line& line, const char* flag, const char* one, const char* many) const {
    const auto n = std::count_if(results_.flags.begin(), results_.flags.end(),
                                 [&](const Flag& f) { return f.name == flag; });
    line.whole(std::string("flags.") + flag, static_cast<double>(n)).say(" of ");
    line.whole("heads", static_cast<double>(heads_.size()));
    return line.say(heads_.size() == 1 ? " head " : " heads ").say(n == 1 ? one : many);
  }
  // A head that selects by content or place: neither flat nor resting on the first token.
  bool sharp(const HeadName& head) const {
    const double entropy = value("entropy_normalized", head);
    const double sink = value("sink_weight", head);
    return entropy < 0.5 && !(sink > kSink);
  }

  const Results& results_;
  std::vector<HeadName> heads_;
};

}  // namespace headgauge::summary
