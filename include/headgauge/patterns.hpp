// Sparse patterns keep only some of the keys that a head shows its queries (docs/patterns.md). A
// key that is not kept is removed: it has no score, and the number n of visible keys does not count
// it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headgauge/heads.hpp"
#include "headgauge/parameters.hpp"

namespace headgauge {

struct PatternInfo {
  std::string name;
  std::string formula;
  Parameters parameters;  // initial values in patterns(), else the chosen ones
  std::string source;
  bool by_weight = false;  // keeps the keys that would have the most weight
};

class Pattern {
 public:
  virtual ~Pattern() = default;
  virtual const PatternInfo& info() const = 0;
  // Returns the mask for Visibility::masked(): the keys kept for the queries of `head` among those
  // that the head itself shows them. The mask owns what it needs. Throws UsageError if the head
  // lacks a tensor that the pattern reads.
  virtual std::shared_ptr<const KeyMask> mask(const HeadInput& head) const = 0;
  // Returns whether heads that share keys keep the same ones, so that one mask serves them all.
  virtual bool same_for_shared_keys() const { return false; }
  // Returns how many keys a decoder must hold for the queries after `context` tokens of a causal
  // model. It is all of them if any key may be used again.
  virtual Index cached_keys(Index context) const { return context; }
  // Returns how many of the first and of the last keys a query of a causal model keeps, its own key
  // among the last, if the pattern keeps no others; else nothing.
  struct FirstAndLast {
    Index first = 0;
    Index last = 0;
  };
  virtual std::optional<FirstAndLast> first_and_last() const { return std::nullopt; }
  // Returns a notice for readers about the pattern on texts of up to `longest` tokens; usually
  // nothing.
  virtual std::string notice(const SourceInfo& source, Index longest) const {
    static_cast<void>(source);
    static_cast<void>(longest);
    return {};
  }
};

// Makes the pattern named by "name" or "name:key=value,...". Throws UsageError that lists the known
// names and names the `option` in which the spec was given. patterns() lists every pattern with its
// defaults.
std::unique_ptr<Pattern> make_pattern(std::string_view spec,
                                      std::string_view option = "ScanOptions::pattern");
const std::vector<PatternInfo>& patterns();

// Returns how many queries at the beginning of a document of `length` tokens keep all their keys in
// every layer: those before the first that loses one. It does not depend on the vectors.
Index queries_with_all_keys(const Pattern& pattern, const SourceInfo& source, Index length);
// The same under the patterns of all heads.
Index queries_with_all_keys(const HeadInterventions& heads, const SourceInfo& source, Index length);

// Says which keys the pattern of a spec keeps, if these are the first and the last of a text:
// "first 4 and last 508"; else returns the spec.
std::string pattern_in_words(const std::string& spec);

// Throws UsageError, which names the `option` in which the spec was given, if the pattern of that
// spec drops no key of any layer in texts of `length` tokens.
void require_dropped_keys(const std::string& spec, std::string_view option,
                          const SourceInfo& source, Index length);

}  // namespace headgauge
