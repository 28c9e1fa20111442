// Builds the lines of the summary.
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

#include "findings/roles.hpp"
#include "findings/summary.hpp"
#include "headgauge/cells.hpp"
#include "headgauge/metric_names.hpp"
#include "results/summary_line.hpp"

namespace headgauge::summary {

struct HeadCell {
  HeadName head;
  MetricCell cell;
};

class Summary {
 public:
  explicit Summary(const Results& results) : results_(results), heads_(measured_heads(results)) {}

  bool possible() const { return longest_length(results_).has_value() && !heads_.empty(); }
  MaybeLine dispersion() const;
  MaybeLine sinks() const;
  MaybeLine roles() const;
  MaybeLine growth() const;
  MaybeLine outlook() const;
  MaybeLine critical() const;
  MaybeLine separability() const;
  MaybeLine spread() const;
  MaybeLine largest_key() const;

 private:
  using Score = std::function<std::optional<double>(const HeadName&)>;

  // A forecast and the ends of its interval, at the nearest length.
  std::optional<MetricCell> forecast(const HeadName& head) const;
  void add_copies(Line& line) const;
  void add_theorem(Line& line) const;

  std::optional<MetricCell> cell(std::string_view metric, const HeadName& head) const {
    return find_cell_of_head(results_, metric, head);
  }
  double value(std::string_view metric, const HeadName& head) const {
    const auto found = cell(metric, head);
    return found ? found->value : kUndefined;
  }
  // Returns the head with the highest score; the first of equal ones.
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
    const auto head = best([&](const HeadName& h) -> std::optional<double> {
      if (metric != metric::sink_weight && is_dormant(h)) return std::nullopt;
      return sign * value(metric, h);
    });
    if (!head) return std::nullopt;
    return HeadCell{*head, *cell(metric, *head)};
  }
  bool is_dormant(const HeadName& head) const { return headgauge::is_dormant(results_, head); }
  std::optional<HeadCell> largest(std::string_view metric) const { return extreme(metric, 1); }
  std::optional<HeadCell> smallest(std::string_view metric) const { return extreme(metric, -1); }

  Line& length(Line& line) const { return line.say("L = ").longest(results_); }
  Index flag_count(std::string_view flag) const {
    return std::ranges::count(results_.flags, flag, &Flag::name);
  }
  Line& cutoff(Line& line, std::string_view flag) const {
    return line.constant(fmt::format("{}", flag_info(flag).cutoff));
  }
  // Returns whether the layer's heads see all keys of the longest text.
  bool sees_all(const HeadName& head) const { return sees_all_keys(results_, head.layer_index); }
  // Returns the number of heads that see all keys; nothing if that is all heads or none.
  std::optional<Index> unwindowed_heads() const {
    const auto count =
        std::ranges::count_if(heads_, [&](const HeadName& head) { return sees_all(head); });
    return count == 0 || count == std::ssize(heads_) ? std::nullopt : std::optional<Index>(count);
  }
  // Writes "1 of the 3 that see all keys": how many of these have the flag.
  Line& open_heads(Line& line, std::string_view flag) const {
    const auto among = std::ranges::count_if(results_.flags, [&](const Flag& raised) {
      const auto head =
          std::ranges::find(heads_, std::pair(raised.layer, raised.head),
                            [](const HeadName& h) { return std::pair(h.layer, h.head); });
      return raised.name == flag && head != heads_.end() && sees_all(*head);
    });
    line.derived(static_cast<double>(among)).say(" of the ");
    return line.derived(static_cast<double>(*unwindowed_heads())).say(" that see all keys");
  }
  // Writes "1 of 6 heads ONE" or "2 of 6 heads MANY"; where some layers have a window "2 of 6 heads
  // (1 of the 3 that see all keys) MANY".
  Line& flag_count(Line& line, const char* flag, const char* one, const char* many) const {
    const auto n = flag_count(flag);
    line.flags(flag, static_cast<double>(n)).say(" of ");
    line.whole({Line::Kind::heads}, static_cast<double>(heads_.size()));
    line.say(heads_.size() == 1 ? " head " : " heads ");
    if (n > 0 && unwindowed_heads()) open_heads(line.say("("), flag).say(") ");
    return line.say(n == 1 ? one : many);
  }
  void closest(int searched, Line& line) const;

  const Results& results_;
  std::vector<HeadName> heads_;
};

}  // namespace headgauge::summary
