// Sparse patterns leave a query only some of the keys that its head shows it
// (docs/patterns.md). A key that is left out is removed: it has no score, and the number n of
// visible keys does not count it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "headgauge/heads.hpp"
#include "headgauge/parameters.hpp"

namespace headgauge {

struct PatternInfo {
  std::string name;
  std::string formula;
  Parameters parameters;  // with their initial values in patterns(), else those that were chosen
  std::string source;
  bool by_weight = false;  // leaves the keys that would have the most weight
};

class Pattern {
 public:
  virtual ~Pattern() = default;
  virtual const PatternInfo& info() const = 0;
  // What the pattern leaves to the queries of `head`, within the keys that the head itself shows
  // them: for Visibility::masked(). Owns what it needs. Throws UsageError where the head has not
  // what the pattern looks at.
  virtual std::shared_ptr<const KeyMask> mask(const HeadInput& head) const = 0;
  // How many keys a decoder has to hold for the queries after `context` tokens of a causal model:
  // all of them, where any may be looked at again.
  virtual Index cached_keys(Index context) const { return context; }
  // What a reader must know of the pattern on texts of up to `longest` tokens; mostly nothing.
  virtual std::string notice(const SourceInfo& source, Index longest) const {
    static_cast<void>(source);
    static_cast<void>(longest);
    return {};
  }
};

// Makes the pattern named by "name" or "name:key=value,..."; throws UsageError that lists what is
// known, and that names the `option` in which the spec was given. patterns() lists every pattern
// with its defaults.
std::unique_ptr<Pattern> make_pattern(std::string_view spec,
                                      std::string_view option = "ScanOptions::pattern");
const std::vector<PatternInfo>& patterns();

}  // namespace headgauge
