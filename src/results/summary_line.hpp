// How the sentences of a summary are put together.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headgauge/results.hpp"
#include "results/longest.hpp"

namespace headgauge::summary {

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
    return fact({rounded(cell.standard_error), "stderr." + cell.metric, cell.index,
                 cell.standard_error, 1});
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

using MaybeLine = std::optional<SummaryLine>;

}  // namespace headgauge::summary
