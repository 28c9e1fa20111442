// A small Results made by hand, with every kind of metric and one of every optional part.
#pragma once

#include "headgauge/cells.hpp"
#include "headgauge/results.hpp"

namespace headgauge {

inline Results made_results() {
  Results r;
  r.tool = {.name = "headgauge", .version = "0.1.0", .simd = "AVX3", .threads = 2};
  r.model = {.name = "tiny", .family = "gpt2", .layers = 2, .heads = 3};
  r.text = {.names = {"a.txt"},
            .sha256 = {"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
            .tokens = {64}};
  r.command = Command::scan;
  r.settings = {{"seed", 7}, {"top_n", {1, 5}}, {"x", "embedding"}};
  r.set_coord("layer", std::vector<double>{0, 1});
  r.set_coord("head", std::vector<double>{0, 1, 2});
  r.set_coord("length", std::vector<double>{32, 64});
  r.set_coord("top_n", std::vector<double>{1, 5});
  r.set_coord("epsilon", std::vector<double>{1e-3, 0.1, 10});
  r.set_coord(kOutcome, std::vector<std::string>{kText});
  r.set_coord("layer_type", std::vector<std::string>{"full_attention", "full_attention"});

  LabelledArray& entropy = r.add_metric("entropy_with_sinks", {"layer", "head", "length"}, "nats");
  for (std::size_t i = 0; i < entropy.values.size(); ++i) {
    entropy.values[i] = 0.1 * static_cast<double>(i);
  }
  entropy.standard_error.assign(entropy.values.size(), kUndefined);
  entropy.standard_error[3] = 1.0 / 3.0;
  entropy.rows.assign(entropy.values.size(), 32);
  LabelledArray& distance = r.add_metric("distance", {"layer", "head", "length", "top_n"}, "1");
  distance.rows.assign(distance.values.size(), 0);
  distance.values[5] = 2.5;
  distance.rows[5] = 63;
  r.add_metric("mass_90_with_sinks", {"layer", "head", "length"}, "keys").values[11] = 17.25;
  r.add_metric("loss", {kOutcome, "length"}, "nats").values = {5.5, 4.25};
  LabelledArray& closest = r.add_metric("closest_n", {"length"}, "keys").with_intervals();
  closest.set({1}, {.value = 3, .low = 2, .high = 4.5});
  LabelledArray& largest = r.add_metric("critical_ks_d", {"length"}, "1").with_p();
  largest.set({1}, {.value = 0.5, .p = 0.0625});
  r.add_metric("cache_bytes", {}, "bytes").values = {12345};
  r.flags.push_back({"sinks", 1, 2, 64, 0.875, 0.8, "convention", "Drop one of them."});
  r.summary = {{"At L = 64 head 1.2 is at 17.2 keys.",
                {{"64", {FactSource::Kind::coordinate, "length", {1}}, 64},
                 {"17.2", {FactSource::Kind::cell, "mass_90_with_sinks", {1, 2, 1}}, 17.25}},
                {"1.2"}}};
  r.notices = {"3 rows had no mass"};
  r.timings = {.forward = 0.5, .total = 1.75};
  return r;
}

}  // namespace headgauge
