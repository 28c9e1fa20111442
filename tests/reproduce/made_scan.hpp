// Results of a scan made by hand, for the claims of paper A: what each head does is a formula.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "headgauge/results.hpp"

namespace headgauge {

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

}  // namespace headgauge
