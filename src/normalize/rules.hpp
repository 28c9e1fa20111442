// The makers of all normalisers: one file a family, one line each in registry.cpp.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "headgauge/normalize.hpp"

namespace headgauge {

// The parameters of "name:key=value,...", read one by one with defaults.
class RuleParameters {
 public:
  explicit RuleParameters(std::string_view rule) : rule_(rule) {}
  // Reads "key=value,..."; throws UsageError where it is not that.
  void read(std::string_view list);
  // The number given for `key`, or `fallback`; throws UsageError if it is not a number or not
  // above `lower_bound`.
  double number(const std::string& key, double fallback, double lower_bound);
  // Throws UsageError if a key was given that nobody asked for; `known` is shown to the user.
  void finish(const std::string& known) const;

 private:
  struct Entry {
    std::string key, value;
    bool used = false;
  };
  std::string rule_;
  std::vector<Entry> entries_;
};

NormalizerInfo softmax_info();
std::unique_ptr<Normalizer> make_softmax(RuleParameters& parameters);

}  // namespace headgauge
