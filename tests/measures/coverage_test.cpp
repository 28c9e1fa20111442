// Unions over the heads of a layer and overlaps of their sets, against brute force.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "headgauge/patterns.hpp"
#include "headgauge/results.hpp"
#include "measures/made_heads.hpp"

namespace headgauge {
namespace {

constexpr Index kHeads = 3;  // of the larger test

// Means of the separability of each head, from the rows that the driver kept.
class KeptStatistics : public LayerStatistics {
 public:
  KeptStatistics(std::vector<std::vector<RowValues>> rows, const MeasureOptions& options,
                 const SelectionDriver& driver)
      : rows_(std::move(rows)), options_(options), driver_(driver) {}
  Estimate at(MetricHandle metric, Index head, Index length, Index inner) const override {
    return at(driver_.name_of(metric), head, length, inner);
  }
  Estimate at(const std::string& metric, Index head, Index length, Index inner) const {
    Estimate cell;
    double sum = 0;
    for (const auto& document : rows_) {
      const Matrix<double>& values = document[head].find(metric)->second;
      const Index end = options_.lengths[length];
      if (values.rows() < end) continue;
      for (Index r = 0; r < end; ++r) {
        if (std::isnan(values(r, inner))) continue;
        sum += values(r, inner);
        ++cell.rows;
      }
    }
    if (cell.rows > 0) cell.value = sum / static_cast<double>(cell.rows);
    return cell;
  }
  Estimate at_position(MetricHandle, Index, Index, Index) const override { return {}; }
  Index heads() const override { return std::ssize(rows_.front()); }

 private:
  std::vector<std::vector<RowValues>> rows_;
  const MeasureOptions& options_;
  const SelectionDriver& driver_;
};

MadeHead head_of(int document, int head) {
  const HeadKind kind{.length = document == 0 ? 200 : 64,
                      .dimension = 8,
                      .sharpness = 1.5,
                      .vocabulary = 40,
                      .drift = 0.7,
                      .seed = std::uint64_t(10 * document + (head == 2 ? 0 : head))};
  MadeHead made = make_head(kind);
  // Heads 0 and 2 look at nearly the same keys.
  if (head == 2) {
    for (Index i = 0; i < kind.length; ++i) made.logits(i, i) += 2.0f;
  }
  made.head = head;
  made.document = document;
  return made;
}

// Of the ten largest weights those not tied with the eleventh: which of `keys`.
std::set<Index> clear_top(const oracle::Row& row, const std::vector<Index>& keys) {
  std::set<Index> clear;
  if (row.order.size() <= 10) return clear;
  for (std::size_t k = 0; k < 10; ++k) {
    if (row.a[row.order[k]] > 1.0001 * row.a[row.order[10]]) clear.insert(keys[row.order[k]]);
  }
  return clear;
}

// The smallest number of keys that a head shows to query `q`.
std::size_t fewest_keys(const std::vector<MadeHead>& heads, Index q) {
  std::size_t fewest = 1u << 30;
  for (const MadeHead& head : heads) fewest = std::min(fewest, visible_keys(head, q).size());
  return fewest;
}

// What the driver derives of the heads that it ran.
Results derived(SelectionDriver& driver, const KeptStatistics& statistics,
                const MeasureOptions& options, const std::vector<int>& sizes) {
  driver.measure().end_layer(0, statistics, driver.pool());
  std::vector<double> heads(statistics.heads());
  std::iota(heads.begin(), heads.end(), 0);
  Results results;
  results.set_coord("layer", std::vector<double>{0});
  results.set_coord("head", heads);
  results.set_coord("length", std::vector<double>(options.lengths.begin(), options.lengths.end()));
  results.set_coord("top_n", std::vector<double>(sizes.begin(), sizes.end()));
  driver.measure().derive(std::vector<const LayerStatistics*>{&statistics}, results);
  return results;
}

// What a layer of these heads, each `length` tokens long, gives.
Results layer_of(const std::vector<MadeHead>& heads) {
  MeasureOptions options;
  options.top_n = {1};
  options.lengths = {static_cast<int>(heads[0].length())};
  options.critical_max = 1;
  SelectionDriver driver(options, {false, true, true}, 1);
  std::vector<std::vector<RowValues>> rows(1);
  for (const MadeHead& head : heads) rows[0].push_back(driver.run(head));
  driver.end_document(0);
  return derived(driver, {rows, options, driver}, options, {1});
}

// A head whose logits are all 0 but for what `raise` does to those of a row.
template <class Raise>
MadeHead flat_head(int number, Index length, const Raise& raise) {
  MadeHead made = make_head({.length = length, .dimension = 4});
  for (Index q = 0; q < length; ++q) {
    std::ranges::fill(made.logits.row(q), 0.0f);
    raise(q, made.logits.row(q));
  }
  made.head = number;
  return made;
}

TEST(Coverage, KeysTiedWithOnesLeftOutAreNoAgreement) {
  const auto none = [](Index, std::span<float>) {};
  const auto first = [](Index, std::span<float> row) { row[0] = 4; };
  const auto self = [](Index q, std::span<float> row) { row[q] = 4; };
  const auto first_and_self = [&](Index q, std::span<float> row) {
    first(q, row);
    self(q, row);
  };
  // The order of the tied keys, which any two heads share, counts for nothing.
  Results r = layer_of({flat_head(0, 40, none), flat_head(1, 40, none), flat_head(2, 40, self)});
  for (Index h = 0; h < 3; ++h) {
    EXPECT_EQ(r.at("top_overlap", {0, h}), 0) << h;
    EXPECT_TRUE(std::isnan(r.at("top_overlap_partner", {0, h}))) << h;
  }
  r = layer_of({flat_head(0, 40, first), flat_head(1, 40, self), flat_head(2, 40, first_and_self),
                flat_head(3, 40, first)});
  EXPECT_NEAR(r.at("top_overlap", {0, 0}), 1, 1e-12);
  EXPECT_EQ(r.at("top_overlap_partner", {0, 0}), 3);
  EXPECT_NEAR(r.at("top_overlap", {0, 1}), 0.5, 1e-12);
  EXPECT_EQ(r.at("top_overlap_partner", {0, 1}), 2);
}

TEST(Coverage, RowsOfTenKeysOrLessAreNotCompared) {
  // The same key in the first ten rows, different ones in the eleventh; then the other way round.
  for (const bool agree_late : {false, true}) {
    const auto raised = [&](int key) {
      return [=](Index q, std::span<float> row) {
        row[(q >= 10) == agree_late ? 0 : std::min<Index>(key, q)] = 4;
      };
    };
    const Results r = layer_of({flat_head(0, 11, raised(3)), flat_head(1, 11, raised(5))});
    EXPECT_NEAR(r.at("top_overlap", {0, 0}), agree_late ? 1 : 0, 1e-12);
  }
  const Results none =
      layer_of({flat_head(0, 10, [](Index, std::span<float> row) { row[0] = 4; }),
                flat_head(1, 10, [](Index, std::span<float> row) { row[0] = 4; })});
  EXPECT_TRUE(std::isnan(none.at("top_overlap", {0, 0})));
}

// The sets of the last 64 rows that every head has, of one head and size.
struct QuerySetsOf {
  std::vector<std::set<Index>> chosen, seen;
};
QuerySetsOf queries_of(const std::vector<MadeHead>& heads, int head, std::size_t size) {
  QuerySetsOf found;
  for (Index q = heads[0].length() - 1; q >= 0 && found.chosen.size() < 64; --q) {
    if (fewest_keys(heads, q) <= size) continue;
    const oracle::Row row = oracle_row(heads[head], q);
    const auto keys = visible_keys(heads[head], q);
    found.seen.emplace_back(keys.begin(), keys.end());
    auto& chosen = found.chosen.emplace_back();
    for (std::size_t k = 0; k < size; ++k) chosen.insert(keys[row.order[k]]);
  }
  return found;
}

// {overlap, that of random sets, distinct keys, those of random sets}, each as a share.
std::array<double, 4> shares_of(const QuerySetsOf& queries, double size) {
  std::array<double, 4> shares = {};
  const auto count = static_cast<double>(queries.chosen.size());
  const auto both = [](const std::set<Index>& a, const std::set<Index>& b) {
    return static_cast<double>(
        std::ranges::count_if(a, [&](Index key) { return b.contains(key); }));
  };
  std::map<Index, double> missed;
  std::set<Index> distinct;
  for (std::size_t i = 0; i < queries.chosen.size(); ++i) {
    distinct.insert(queries.chosen[i].begin(), queries.chosen[i].end());
    const auto n = static_cast<double>(queries.seen[i].size());
    for (const Index key : queries.seen[i]) {
      missed.try_emplace(key, 1.0).first->second *= 1 - size / n;
    }
    for (std::size_t j = 0; j < i; ++j) {
      const double pairs = count * (count - 1) / 2;
      shares[0] += both(queries.chosen[i], queries.chosen[j]) / size / pairs;
      shares[1] += both(queries.seen[i], queries.seen[j]) * size / n /
                   static_cast<double>(queries.seen[j].size()) / pairs;
    }
  }
  shares[2] = static_cast<double>(distinct.size()) / count / size;
  for (const auto& [key, miss] : missed) shares[3] += (1 - miss) / count / size;
  return shares;
}

// Each head has a pattern, or none has, in a causal model or one that sees all keys.
void compare_with_brute_force(const std::vector<std::string>& patterns,
                              const Visibility& visibility = Visibility::causal()) {
  MeasureOptions options;
  options.top_n = {16, 1, 5, 12, 5};  // in any order, and repeated
  options.lengths = {64, 200};
  options.critical_max = 1;
  const std::vector<int> sizes = {1, 5, 12, 16};  // the values along top_n
  SelectionDriver driver(options, {true, true, true}, 2);
  std::vector<std::vector<RowValues>> rows(2);
  std::vector<std::vector<MadeHead>> heads(2);
  for (int document = 0; document < 2; ++document) {
    for (int head = 0; head < kHeads; ++head) {
      MadeHead made = head_of(document, head);
      made.visibility = visibility;
      if (!patterns.empty()) {
        const auto pattern = make_pattern(patterns[head]);
        made.visibility = made.visibility.masked(pattern->mask(made.input()));
      }
      heads[document].push_back(std::move(made));
      rows[document].push_back(driver.run(heads[document].back()));
    }
    driver.end_document(document);
  }
  const KeptStatistics statistics(rows, options, driver);
  const Results results = derived(driver, statistics, options, sizes);
  for (Index l = 0; l < 2; ++l) {
    const Index length = options.lengths[l];
    for (Index place = 0; place < std::ssize(sizes); ++place) {
      const std::size_t size = sizes[place];
      double coverage = 0, independent = 0, mean_p = 0;
      std::int64_t count = 0;
      for (Index h = 0; h < kHeads; ++h) {
        mean_p += statistics.at("separability_with_sinks", h, l, place).value / kHeads;
      }
      for (int document = 0; document < 2; ++document) {
        const auto& own = heads[document];
        // A text shorter than the length does not contribute to it.
        if (own[0].length() < length) continue;
        // The separability of each head in this text.
        const KeptStatistics in_text({rows[document]}, options, driver);
        for (Index q = 0; q < length; ++q) {
          if (fewest_keys(own, q) <= size) continue;
          std::map<Index, double> missed;
          std::set<Index> distinguishable;
          for (Index h = 0; h < kHeads; ++h) {
            const oracle::Row row = oracle_row(own[h], q);
            const auto keys = visible_keys(own[h], q);
            const oracle::Separation found = oracle::separate(row, row.points, size);
            for (std::size_t k = 0; k < size; ++k) {
              const double p = in_text.at("separability_with_sinks", h, l, place).value;
              missed.try_emplace(keys[row.order[k]], 1.0).first->second *= 1.0 - p;
              if (found.apart[k]) distinguishable.insert(keys[row.order[k]]);
            }
          }
          coverage +=
              static_cast<double>(distinguishable.size()) / static_cast<double>(missed.size());
          double covered = 0;
          for (const auto& [key, miss] : missed) covered += 1.0 - miss;
          independent += covered / static_cast<double>(missed.size());
          ++count;
        }
      }
      const LabelledArray& unions = *results.metric("union_coverage");
      const Index cell = unions.offset(std::array<Index, 3>{0, l, place});
      if (count == 0) {
        EXPECT_EQ(unions.rows[cell], 0);
        for (const char* metric :
             {"union_coverage", "union_coverage_independent", "union_coverage_paper"}) {
          EXPECT_TRUE(std::isnan(results.at(metric, {0, l, place}))) << metric;
        }
        continue;
      }
      EXPECT_NEAR(unions.values[cell], coverage / static_cast<double>(count), 1e-9);
      EXPECT_EQ(unions.rows[cell], count);
      EXPECT_EQ(std::isnan(unions.standard_error[cell]), length < 200);  // four blocks of 64 rows
      EXPECT_NEAR(results.at("union_coverage_independent", {0, l, place}),
                  independent / static_cast<double>(count), 1e-9);
      EXPECT_NEAR(results.at("union_coverage_paper", {0, l, place}),
                  1.0 - std::pow(1.0 - mean_p, 3.0), 1e-12);
    }
  }
  double overlap[kHeads][kHeads] = {};
  int overlap_rows = 0;
  for (Index q = 0; q < 200; ++q) {
    if (fewest_keys(heads[0], q) <= 10) continue;
    ++overlap_rows;
    std::vector<std::set<Index>> tops;
    for (const MadeHead& head : heads[0]) {
      tops.push_back(clear_top(oracle_row(head, q), visible_keys(head, q)));
    }
    for (std::size_t i = 0; i < tops.size(); ++i) {
      for (std::size_t j = 0; j < tops.size(); ++j) {
        std::vector<Index> both;
        std::ranges::set_intersection(tops[i], tops[j], std::back_inserter(both));
        const auto shared = static_cast<double>(both.size());
        const auto either = static_cast<double>(tops[i].size() + tops[j].size()) - shared;
        overlap[i][j] += either > 0 ? shared / either : 0.0;
      }
    }
  }
  for (Index h = 0; h < kHeads; ++h) {
    Index partner = h == 0 ? 1 : 0;
    for (Index other = 0; other < kHeads; ++other) {
      if (other != h && overlap[h][other] > overlap[h][partner]) partner = other;
    }
    EXPECT_EQ(results.at("top_overlap_partner", {0, h}), static_cast<double>(partner));
    EXPECT_NEAR(results.at("top_overlap", {0, h}), overlap[h][partner] / overlap_rows, 1e-9);
  }
  for (int h = 0; h < kHeads; ++h) {
    for (Index place = 0; place < std::ssize(sizes); ++place) {
      std::array<double, 4> mean = {};
      double documents = 0;
      for (const auto& own : heads) {
        const QuerySetsOf queries = queries_of(own, h, sizes[place]);
        if (queries.chosen.size() < 2) continue;
        const auto shares = shares_of(queries, sizes[place]);
        for (std::size_t i = 0; i < 4; ++i) mean[i] += shares[i];
        ++documents;
      }
      const auto expect = [&](const char* metric, double sum) {
        const double found = results.at(metric, {0, h, place});
        if (documents == 0) {
          EXPECT_TRUE(std::isnan(found)) << metric;
        } else {
          EXPECT_NEAR(found, sum / documents, 1e-9) << metric << " of head " << h;
        }
      };
      expect("query_overlap", mean[0]);
      expect("query_distinct", mean[2]);
      if (!patterns.empty()) continue;  // a random set is one of the last keys
      expect("query_overlap_random", mean[1]);
      expect("query_distinct_random", mean[3]);
    }
  }
  if (!patterns.empty()) return;
  EXPECT_GT(results.at("top_overlap", {0, 0}), 0.6);
  EXPECT_LT(results.at("top_overlap", {0, 1}), 0.5);
}

TEST(Coverage, UnionsAndOverlapsAgreeWithBruteForce) {
  compare_with_brute_force({});
}

// Each head of a row sees other keys, and another number of them.
TEST(Coverage, RowsCountWhereEveryHeadHasASet) {
  compare_with_brute_force(
      {"topk:k=15", "bigbird:window=9,random=6,global=1", "sinks:sinks=2,window=20"});
}

// A row then also sees keys behind its query.
TEST(Coverage, OfAModelThatSeesAllKeys) {
  compare_with_brute_force({}, Visibility::full());
  compare_with_brute_force({"topk:k=15", "window:size=20", "topk:k=30"}, Visibility::full());
}

}  // namespace
}  // namespace headgauge
