// The small models that many tests run, texts for them, and results that are the same.
#pragma once

#include <algorithm>
#include <array>

#include "faults.hpp"
#include "headgauge/cells.hpp"
#include "headgauge/model.hpp"
#include "headgauge/results.hpp"
#include "test_data.hpp"

namespace headgauge::testing {

// Token i is i² + slope i + first, modulo 41.
inline std::vector<int> made_ids(int count, int slope, int first = 0) {
  std::vector<int> ids;
  for (int i = 0; i < count; ++i) ids.push_back((i * i + slope * i + first) % 41);
  return ids;
}

// A model of this repository, by its folder. plain: two layers of two heads, 41 ids.
inline constexpr const char* kPlain = "tests/golden/gpt2/plain";
inline std::unique_ptr<ModelSource> open_model(std::vector<Document> documents,
                                               const SourceOptions& options = {},
                                               const std::string& folder = kPlain) {
  return make_model_source(resolve_model(source_path(folder)), std::move(documents), options);
}

// How many notices have this part.
inline Index notices_with(const Results& results, const std::string& part) {
  return std::ranges::count_if(
      results.notices, [&](const auto& notice) { return notice.find(part) != std::string::npos; });
}

// Leaves only the first outcome, that of the text, of each metric.
inline Results of_text(Results results) {
  for (auto& [name, metric] : results.metrics) {
    if (metric.has_dim(kOutcome)) metric = metric.take(kOutcome, std::array<Index, 1>{0});
  }
  return results;
}

// Every metric of `expected` has the same values in `found`, with all their parts.
inline void expect_same_values(const Results& found, const Results& expected) {
  EXPECT_FALSE(expected.metrics.empty());
  for (const auto& [name, metric] : expected.metrics) {
    const LabelledArray& other = found.require_metric(name);
    EXPECT_TRUE(std::ranges::equal(other.values, metric.values, same)) << name;
    for (const auto& [part, numbers, number] : kEstimateParts) {
      EXPECT_TRUE(std::ranges::equal(other.*numbers, metric.*numbers, same)) << name << " " << part;
    }
    EXPECT_EQ(other.rows, metric.rows) << name;
  }
}

}  // namespace headgauge::testing
