// Checks that every number of the summary stands in the results, by the results' own JSON.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <regex>
#include <string>
#include <vector>

#include "findings/summary.hpp"

namespace headgauge::testing {

// The sentences of the summary that are not part of the answer, which has its own tests.
inline std::vector<SummaryLine> findings_of(const Results& results) {
  std::vector<SummaryLine> lines = summarize_scan(results);
  std::erase_if(lines, [](const SummaryLine& line) { return line.lead; });
  return lines;
}

// Every number in a line as it stands there, head names left out.
inline std::vector<std::string> numbers_in(const SummaryLine& line) {
  std::string text = line.text;
  for (const std::string& head : line.heads) {
    const std::string name = "head " + head;
    const std::size_t at = text.find(name);
    EXPECT_NE(at, std::string::npos) << name;
    if (at != std::string::npos) text.replace(at, name.size(), "head");
  }
  const std::regex number("-?[0-9]+(\\.[0-9]+)?");
  std::vector<std::string> list;
  for (std::sregex_iterator it(text.begin(), text.end(), number), end; it != end; ++it) {
    list.push_back(it->str());
  }
  return list;
}

// Finds the part of a metric that holds what a fact of this kind says.
inline const char* part_of(FactSource::Kind kind) {
  using Kind = FactSource::Kind;
  return kind == Kind::standard_error ? "stderr"
         : kind == Kind::low          ? "low"
         : kind == Kind::high         ? "high"
         : kind == Kind::p            ? "p"
                                      : "values";
}

// The value of a fact, looked up in the file's own JSON.
inline double value_in(const nlohmann::ordered_json& file, const Fact& fact) {
  using Kind = FactSource::Kind;
  const std::string& name = fact.source.name;
  switch (fact.source.kind) {
    case Kind::constant:
    case Kind::derived:
      return fact.value;
    case Kind::heads:
      return file["coords"]["layer"].size() * file["coords"]["head"].size();
    case Kind::critical_range: {
      const int longest = file["coords"]["length"].back();
      const int most = file["settings"]["critical_max"];
      return most < longest ? most : longest - 1;
    }
    case Kind::length_limit: {
      const int longest = file["coords"]["length"].back();
      int n = 0;
      while ((n + 1) * 100 < 6 * longest) ++n;  // the largest N below 6 % of L
      return n;
    }
    case Kind::coordinate:
      return file["coords"][name][fact.source.cell.at(0)];
    case Kind::setting:
      return file["settings"][name];
    case Kind::heads_with: {
      int count = 0;
      for (const nlohmann::ordered_json& layer : file["metrics"][name]["values"]) {
        for (const nlohmann::ordered_json& head : layer)
          count += !head.back().is_null() && head.back() >= 1;
      }
      return count;
    }
    case Kind::flags:
      return static_cast<double>(
          std::count_if(file["flags"].begin(), file["flags"].end(),
                        [&](const nlohmann::ordered_json& flag) { return flag["name"] == name; }));
    case Kind::cell:
    case Kind::standard_error:
    case Kind::low:
    case Kind::high:
    case Kind::p:
      break;
  }
  const nlohmann::ordered_json* cell = &file["metrics"][name][part_of(fact.source.kind)];
  for (const Index i : fact.source.cell) cell = &cell->at(i);
  return cell->get<double>();
}

// How many units of its last digit a text is off.
inline double digits_off(const std::string& text, double value) {
  const std::size_t dot = text.find('.');
  const auto decimals = dot == std::string::npos ? 0 : text.size() - dot - 1;
  return std::abs(std::stod(text) - value) * std::pow(10.0, static_cast<double>(decimals));
}

// Of the numbers that stand in the results as they are.
inline void expect_facts_are_in_the_results(const Results& results,
                                            const std::vector<SummaryLine>& lines) {
  const nlohmann::ordered_json file = to_json(results);
  for (const SummaryLine& line : lines) {
    SCOPED_TRACE(line.text);
    for (const Fact& fact : line.facts) {
      EXPECT_NE(line.text.find(fact.text), std::string::npos) << fact.text;
      EXPECT_LE(digits_off(fact.text, fact.value * fact.scale), .5 + 1e-9) << fact.source.name;
      if (fact.source.kind == FactSource::Kind::derived) continue;
      EXPECT_EQ(fact.value, value_in(file, fact)) << fact.source.name;
    }
    for (const std::string& head : line.heads) {
      EXPECT_NE(line.text.find("head " + head), std::string::npos) << head;
    }
  }
}

inline void expect_every_number_is_in_the_results(const Results& results) {
  const nlohmann::ordered_json file = to_json(results);
  for (const SummaryLine& line : findings_of(results)) {
    SCOPED_TRACE(line.text);
    std::vector<std::string> texts;
    for (const Fact& fact : line.facts) {
      texts.push_back(fact.text);
      EXPECT_EQ(fact.value, value_in(file, fact)) << fact.source.name;
      EXPECT_LE(digits_off(fact.text, fact.value * fact.scale), .5 + 1e-9) << fact.source.name;
    }
    EXPECT_EQ(numbers_in(line), texts) << "a number without a fact, or in another order";
    EXPECT_GE(line.facts.size(), 1u);
    EXPECT_GE(line.heads.size(), 1u);
    const bool names_length =
        std::any_of(line.facts.begin(), line.facts.end(), [&](const Fact& fact) {
          return fact.source.kind == FactSource::Kind::coordinate && fact.source.name == "length" &&
                 fact.source.cell == std::vector<Index>{results.coord_size("length") - 1};
        });
    EXPECT_TRUE(names_length);
  }
}

}  // namespace headgauge::testing
