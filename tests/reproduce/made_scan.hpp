// Results of a scan made by hand, for the claims of paper A: what each head does is a formula.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "faults.hpp"
#include "headgauge/claims.hpp"

namespace headgauge {

using enum Verdict;

struct MadeScan {
  int layers = 4, heads = 5;  // 20 heads
  std::vector<double> lengths = {32, 64, 128, 256, 512, 1024};
  std::vector<double> positions = {8, 16, 32, 64, 128, 256, 512, 1024};
  std::vector<double> sizes = {1, 5, 10, 20, 50, 100};
  Results results;

  MadeScan() { begin(); }
  explicit MadeScan(int heads_of_layer) : heads(heads_of_layer) { begin(); }

  // A metric over layer, head, `along` (length or position) and top_n: value(head, label, N).
  using Formula = std::function<double(int head, double label, double n)>;
  MadeScan& fill(const std::string& name, const std::string& along, const Formula& value) {
    LabelledArray& metric = results.add_metric(name, {"layer", "head", along, "top_n"}, "1");
    const auto labels = results.coord_numbers(along);
    const auto tops = results.coord_numbers("top_n");
    std::size_t at = 0;
    for (int head = 0; head < layers * heads; ++head) {
      for (double label : labels) {
        for (double n : tops) metric.values[at++] = value(head, label, n);
      }
    }
    return *this;
  }
  // A metric over layer, head and more: value(head, cell).
  using OfCell = std::function<double(int head, std::span<const Index> cell)>;
  LabelledArray& add(const std::string& name, std::vector<std::string> more, const OfCell& value) {
    std::vector<std::string> dims = {"layer", "head"};
    dims.insert(dims.end(), more.begin(), more.end());
    LabelledArray& metric = results.add_metric(name, dims, "1");
    metric.each([&](std::span<const Index> cell, std::size_t at) {
      metric.values[at] = value(static_cast<int>(cell[0] * heads + cell[1]), cell);
    });
    return metric;
  }

 private:
  void begin() {
    std::vector<double> of_layer, of_head;
    for (int l = 0; l < layers; ++l) of_layer.push_back(l);
    for (int h = 0; h < heads; ++h) of_head.push_back(h);
    results.model = {.name = "made", .family = "gpt2", .layers = layers, .heads = heads};
    results.settings = {{"critical_max", 128}, {"critical_level", 0.01}};
    results.set_coord("layer", of_layer);
    results.set_coord("head", of_head);
    results.set_coord("length", lengths);
    results.set_coord("position", positions);
    results.set_coord("top_n", sizes);
  }
};

inline double fact(const Claim& claim, const std::string& name) {
  for (const Claim::Fact& fact : claim.facts) {
    if (fact.name == name) return fact.value;
  }
  return kUndefined;
}

inline void expect_verdict(const Claim& claim, Verdict expected,
                           const Where& where = Where::current()) {
  if (claim.verdict == expected) return;
  ADD_FAILURE_AT(where.file_name(), static_cast<int>(where.line())) << claim.measured;
}

// Mean number of keys of the rows of a bin that ends at `label` and begins at half of it.
inline double mean_keys(double label) {
  return (label / 2 + 1 + label) / 2;
}

}  // namespace headgauge
