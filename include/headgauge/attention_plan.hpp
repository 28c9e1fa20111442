// A plan: what replaces full softmax attention in each head of a model (docs/plan.md,
// docs/formats.md). Query heads that share keys share what replaces their attention.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "headgauge/heads.hpp"

namespace headgauge {

// What the heads that share keys attend by. An empty text: as the model has it.
struct HeadPlan {
  std::string pattern;     // what make_pattern() takes
  std::string normalizer;  // what make_normalizer() takes
  bool changes() const { return !pattern.empty() || !normalizer.empty(); }
  bool operator==(const HeadPlan&) const = default;
  // "sinks:sinks=4,window=60", "uniform", both with a space between them, or "full".
  std::string text() const;
};

struct AttentionPlan {
  // Of the model that it was made for: name, family, layers, heads, kv_heads, config_sha256,
  // weights_sha256.
  nlohmann::ordered_json model = nlohmann::ordered_json::object();
  Index context = 0;        // tokens for which sizes and losses were measured; 0: not known
  PerHead<HeadPlan> heads;  // by layer and key-value head
  std::string sha256;       // of the file that it was read from; empty: of none
  // What was measured of it and on which texts, for people: whatever the maker wrote.
  nlohmann::ordered_json measured = nlohmann::ordered_json::object();
};

// Makes a plan that changes nothing.
AttentionPlan empty_plan(const HeadSource& source);

// Reads and writes a plan file. Throw BadInputError for what is no plan file, UnsupportedError for
// one of a later schema, ResourceError where the file cannot be written.
AttentionPlan read_plan(const std::string& path);
// Reads the text of a plan file that was read already; `path` is for messages.
AttentionPlan parse_plan(std::string_view text, const std::string& path);
void write_plan(const AttentionPlan& plan, const std::string& path);
// Gives what write_plan() writes.
std::string plan_text(const AttentionPlan& plan);

// Makes the patterns and normalizers of a plan, for every query head of the model. Throws
// BadInputError, which calls the plan `name`, where it is of another model, and UsageError for
// patterns and normalizers that are not known.
HeadInterventions make_interventions(const AttentionPlan& plan, const HeadSource& source,
                                     const std::string& name);

// Makes them without asking whose plan it is. Heads with the same text share one object.
HeadInterventions make_interventions(const PerHead<HeadPlan>& heads, const SourceInfo& source);

// Counts the keys that a decoder holds for a key-value head after `context` tokens of a causal
// model: all that the head can see, those that the pattern keeps (Pattern::cached_keys), or 1 for
// the running mean of `uniform`.
Index cached_keys(const HeadPlan& head, int layer, const SourceInfo& source, Index context);

// The share of the model's own key-value cache that is left after `context` tokens.
double cache_share(const PerHead<HeadPlan>& heads, const SourceInfo& source, Index context);
// The bytes that a key and its value take in the cache of one key-value head.
std::size_t bytes_of_key(const SourceInfo& source);

}  // namespace headgauge
