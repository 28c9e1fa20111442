// The makers of all normalisers: one file a family, one line each in registry.cpp.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headgauge/normalize.hpp"

namespace headgauge {

// Where a "name:key=value,..." is given: "--normalizer", a "rule", listed by "normalizers".
struct RuleOption {
  std::string name;
  std::string what;
  std::string command;
};

// The parameters of "name:key=value,...", read one by one with defaults.
class RuleParameters {
 public:
  RuleParameters(RuleOption option, std::string_view rule)
      : option_(std::move(option)), rule_(rule) {}
  // Reads "key=value,..."; throws UsageError where it is not that.
  void read(std::string_view list);
  // The number given for `key`, or `fallback`; throws UsageError if it is not a finite number
  // within [lowest, highest] (`above`: not lowest itself).
  struct Domain {
    double lowest = -1e30;
    double highest = 1e30;
    bool above = false;
    bool whole = false;  // an integer
    bool even = false;
  };
  double number(const std::string& key, double fallback, const Domain& domain);
  // The word given for `key`, or `fallback`; throws UsageError unless it is one of `choices`.
  std::string word(const std::string& key, const std::string& fallback,
                   const std::vector<std::string>& choices);
  // Whether `key` was given as exactly this text, which then needs no number().
  bool is(const std::string& key, std::string_view text);
  const std::string& rule() const { return rule_; }
  // Throws UsageError if a key was given that nobody asked for; `known` is shown to the user.
  void finish(const std::string& known) const;

 private:
  struct Entry {
    std::string key, value;
    bool used = false;
  };
  Entry* find(const std::string& key);

  // "--normalizer softmax, parameter t": what an error is about.
  std::string parameter(const std::string& key) const;

  RuleOption option_;
  std::string rule_;
  std::vector<Entry> entries_;
};

// Splits "name:key=value,..." and reads its parameters; throws UsageError that offers the nearest
// of the `known` names for one that is none of them.
RuleParameters parse_rule(const RuleOption& option, std::string_view spec,
                          const std::vector<std::string>& known);

// A rule as the registry knows it.
struct Rule {
  NormalizerInfo info;  // with the default parameters
  std::unique_ptr<Normalizer> (*make)(const NormalizerInfo& info, RuleParameters&);
};

// The rules of each family; `info` is what they then give out, with the parameters filled in.
std::vector<Rule> scaled_softmax_rules();
std::vector<Rule> adaptive_rules();
std::vector<Rule> entmax_rules();
std::vector<Rule> sink_rules();
std::vector<Rule> elementwise_rules();
std::vector<Rule> pointwise_rules();
std::vector<Rule> signed_rules();
std::vector<Rule> stieltjes_rules();
std::vector<Rule> top_k_rules();

}  // namespace headgauge
