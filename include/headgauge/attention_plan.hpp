// A plan says what replaces full softmax attention in each head of a model (docs/plan.md,
// docs/formats.md). Query heads that share keys share the replacement.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "headgauge/heads.hpp"
#include "headgauge/provenance.hpp"

namespace headgauge {

// The replacement for one group of heads that share keys. An empty text keeps the model's own.
struct HeadPlan {
  std::string pattern;     // an argument of make_pattern()
  std::string normalizer;  // an argument of make_normalizer()
  bool changes() const { return !pattern.empty() || !normalizer.empty(); }
  bool operator==(const HeadPlan&) const = default;
  // Returns "sinks:sinks=4,window=60", "uniform", both separated by a space, or "full".
  std::string text() const;
};

struct AttentionPlan {
  // The model that the plan was made for: name, family, layers, heads, kv_heads, config_sha256,
  // weights_sha256.
  ModelRecord model;
  Index context = 0;        // tokens for which sizes and losses were measured; 0: unknown
  PerHead<HeadPlan> heads;  // by layer and key-value head
  std::string sha256;       // checksum of the file it was read from; empty: not read from a file
  // Measurements of the plan and the texts used, for readers: whatever the maker wrote.
  nlohmann::ordered_json measured = nlohmann::ordered_json::object();
};

// Makes a plan that changes nothing.
AttentionPlan empty_plan(const HeadSource& source);

// Reads and writes a plan file. Throws BadInputError if the file is not a plan, UnsupportedError
// for a later schema, ResourceError if the file cannot be written.
AttentionPlan read_plan(const std::string& path);
// Parses the text of a plan file; `path` is for messages.
AttentionPlan parse_plan(std::string_view text, const std::string& path);
void write_plan(const AttentionPlan& plan, const std::string& path);
// Gives what write_plan() writes.
std::string plan_text(const AttentionPlan& plan);

// Makes the patterns and normalizers of a plan, for every query head of the model. Throws
// BadInputError, which calls the plan `name`, if the plan belongs to another model, and UsageError
// for unknown patterns and normalizers.
HeadInterventions make_interventions(const AttentionPlan& plan, const HeadSource& source,
                                     const std::string& name);

// Makes them without checking which model the plan belongs to. Heads with the same text share one
// object.
HeadInterventions make_interventions(const PerHead<HeadPlan>& heads, const SourceInfo& source);

// Returns the number of keys that a decoder holds for a key-value head after `context` tokens of a
// causal model: all keys the head can see, those the pattern keeps (Pattern::cached_keys), or 1 for
// the running mean of `uniform`.
Index cached_keys(const HeadIntervention& head, int layer, const SourceInfo& source, Index context);
Index cached_keys(const HeadPlan& head, int layer, const SourceInfo& source, Index context);

// Returns the bytes of the whole cache after `context` tokens in numbers of 16 bits; heads that
// share keys hold those of the head that keeps most.
double cached_bytes(const HeadInterventions& heads, const SourceInfo& source, Index context);

// Returns the share of the model's own key-value cache that the plan keeps after `context` tokens.
double cache_share(const PerHead<HeadPlan>& heads, const SourceInfo& source, Index context);
// Returns the bytes of one key and its value in the cache of one key-value head.
std::size_t bytes_of_key(const SourceInfo& source);

}  // namespace headgauge
