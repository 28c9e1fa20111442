// What a scan of a tiny model might give: 2 layers of 3 heads, one of each well-known kind, the
// longest length 1024. The numbers are made up.
#pragma once

#include "headgauge/cells.hpp"
#include "headgauge/flags.hpp"
#include "headgauge/results.hpp"

namespace headgauge {

// A metric of each head at lengths 64 (half of the value) and 1024.
inline void set_heads(Results& r, const std::string& name, const std::string& unit,
                      const std::vector<double>& values) {
  LabelledArray& m = r.add_metric(name, {"layer", "head", "length"}, unit);
  for (std::size_t h = 0; h < values.size(); ++h) {
    m.values[2 * h] = values[h] / 2;
    m.values[2 * h + 1] = values[h];
  }
}

inline void set_separability(Results& r, const std::string& name,
                             const std::vector<double>& values) {
  LabelledArray& m = r.add_metric(name, {"layer", "head", "length", "top_n"}, "1");
  m.standard_error.assign(m.values.size(), kUndefined);
  for (std::size_t h = 0; h < values.size(); ++h) {
    const std::size_t cell = (2 * h + 1) * 3 + 1;  // longest length, N = 20
    m.values[cell] = values[h];
    m.standard_error[cell] = .01;
  }
}

// Slopes and forecasts, which need more position bins than these results have.
inline void set_outlook(Results& r, double coverage) {
  r.set_coord("forecast_length", std::vector<double>{2048});
  LabelledArray& slope = r.add_metric("entropy_slope_with_sinks", {"layer", "head"}, "1");
  slope.values = {.98, .31, .02, -.01, kUndefined, .64};
  slope.standard_error = {.004, .12, .01, .4, kUndefined, .03};
  LabelledArray& forecast = r.add_metric("effective_tokens_forecast_with_sinks",
                                         {"layer", "head", "forecast_length"}, "keys");
  forecast.values = {1510, 20, 1.25, 3.5, kUndefined, 220};
  forecast.low = {1400, 10, 1, 1.5, kUndefined, 190};
  forecast.high = {1625.5, 40, 2.5, 8, kUndefined, 250};
  r.add_metric("forecast_coverage", {}, "1").values = {coverage};
}

inline Results scanned_results() {
  const double none = kUndefined;
  Results r;
  r.tool = {.name = "headgauge", .version = "0.1.0", .simd = "AVX3", .threads = 2};
  r.model = {.name = "models/tiny", .family = "gpt2", .layers = 2, .heads = 3, .head_dim = 32};
  r.text = {.names = {"/texts/moss.txt"}, .sha256 = {"00ff"}, .tokens = {1154}};
  r.settings = {{"normalizer", "softmax"},
                {"x", "embedding"},
                {"seed", 0},
                {"critical_max", 128},
                {"critical_level", 0.02}};
  r.timings = {.total = 0.4321};
  r.set_coord("layer", std::vector<double>{0, 1});
  r.set_coord("head", std::vector<double>{0, 1, 2});
  r.set_coord("length", std::vector<double>{64, 1024});
  r.set_coord(kOutcome, std::vector<std::string>{kText});
  r.set_coord("top_n", std::vector<double>{1, 20, 100});
  r.set_coord("temperature", std::vector<double>{.01, .1, 1, 10});
  r.set_coord("epsilon", std::vector<double>{1e-3, .1});

  // uniform, sink, previous token, far retrieval, one key, nothing special
  set_heads(r, "entropy_normalized_with_sinks", "1", {1, .41, .03, .22, .001, .73});
  set_heads(r, "effective_tokens_with_sinks", "keys", {512.5, 9.6, 1.2, 3.456, 1.002, 120.25});
  set_heads(r, "max_weight_with_sinks", "1", {.0073, .71, .97, .55, .999, .1});
  set_heads(r, "sink_weight", "1", {.0073, .71, .002, .05, .004, .02});
  set_heads(r, "attention_distance_with_sinks", "tokens", {255.8, 180.2, 1.04, 231.7, .1, 99.96});
  set_heads(r, "mass_90_with_sinks", "keys", {461.7, 30.5, 1, 7.25, 1, 200.4});
  // Beyond the sinks: in the one head that has one, more widely than with it.
  set_heads(r, "entropy_normalized", "1", {1, .92, .03, .22, .001, .73});
  set_heads(r, "effective_tokens", "keys", {512.5, 290.5, 1.2, 3.456, 1.002, 120.25});
  set_heads(r, "max_weight", "1", {.0073, .01, .97, .55, .999, .1});
  set_heads(r, "attention_distance", "tokens", {255.8, 120.2, 1.04, 231.7, .1, 99.96});
  set_heads(r, "mass_90", "keys", {461.7, 300.5, 1, 7.25, 1, 200.4});
  set_heads(r, "visible_keys", "keys", {512.5, 512.5, 512.5, 512.5, 512.5, 512.5});
  set_heads(r, "jacobian_frobenius", "1", {.05, .2, .1, .3, none, .15});
  set_heads(r, "critical_n_head", "keys", {-1, 11, 1, 5, none, 45});
  set_separability(r, "separability", {.21, .83, .64, .98, .4, .62});
  set_separability(r, "separability_null", {.44, .45, .46, .47, .5, .41});
  set_separability(r, "separability_excess", {-.23, .38, .18, .51, -.1, .21});
  r.add_metric("loss", {kOutcome, "length"}, "nats").values = {5.125, 4.3};
  r.add_metric("critical_n", {"length"}, "keys").values = {none, 11};
  r.add_metric("critical_fraction", {"length"}, "1").values = {none, 11.0 / 1024};
  LabelledArray& closest = r.add_metric("closest_n", {"length"}, "keys");
  closest.values = {none, 29};
  closest.low = {none, 21};
  closest.high = {none, 43.5};
  r.add_metric("closest_ratio", {"length"}, "1").values = {none, .983};
  LabelledArray& g = r.add_metric("sensitivity", {"layer", "head", "temperature", "epsilon"}, "1");
  for (std::size_t h = 0; h < 6; ++h) {
    g.values[(h * 4 + 1) * 2] = .1 * static_cast<double>(h + 1);
    g.values[(h * 4 + 2) * 2] = .01 * static_cast<double>(h + 1);
  }
  r.add_metric("sensitivity_top2", {"layer", "head"}, "1").values = {.01, .1, .26, .2, .02, .3};
  r.add_metric("top_overlap", {"layer", "head"}, "1").values = {.1, .1, .1, .1, .1, .85};
  r.add_metric("top_overlap_partner", {"layer", "head"}, "head").values = {1, 0, 0, 1, 2, 0};
  r.flags = find_flags(r);
  return r;
}

}  // namespace headgauge
