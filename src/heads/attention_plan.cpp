#include "headgauge/attention_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/file.hpp"
#include "base/strict_json.hpp"
#include "headgauge/files.hpp"
#include "headgauge/normalize.hpp"
#include "headgauge/patterns.hpp"
#include "headgauge/results.hpp"
#include "headgauge/text.hpp"
#include "heads/tool.hpp"

namespace headgauge {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kPlanSchema = "headgauge.plan/1";
constexpr int kMostHeads = 1 << 20;
constexpr std::array kEntryKeys = {"layer", "kv_head", "pattern", "normalizer"};
// AttentionPlan::measured holds all other keys, which the maker of the plan chooses.
constexpr std::array kPlanKeys = {"schema", "model", "context", "heads"};

ModelRecord model_of(const HeadSource& source) {
  Results described;
  source.describe(described);
  ModelRecord model = describe_model(source.info());
  model.config_sha256 = described.model.config_sha256;
  model.weights_sha256 = described.model.weights_sha256;
  return model;
}

void require_model(const AttentionPlan& plan, const HeadSource& source, const std::string& name) {
  const Json asked = to_json(plan.model), model = to_json(model_of(source));
  for (const char* key :
       {"family", "layers", "heads", "kv_heads", "config_sha256", "weights_sha256"}) {
    if (!asked.contains(key) || !model.contains(key) || asked[key] == model[key]) continue;
    throw BadInputError(fault(name, fmt::format("a plan for {}", source.info().name),
                              fmt::format("a plan for {}, whose {} is {} instead of {}",
                                          plan.model.name.value_or("a model without a name"), key,
                                          asked[key].dump(), model[key].dump()),
                              "make one for this model with headgauge plan"));
  }
}

HeadIntervention make_intervention(const HeadPlan& head) {
  HeadIntervention made;
  if (!head.pattern.empty()) made.pattern = make_pattern(head.pattern, "pattern of a plan");
  if (!head.normalizer.empty()) made.normalizer = make_normalizer(head.normalizer);
  return made;
}

// Returns a whole number of a JSON object; throws nlohmann's exception if it is missing.
int number(const Json& object, const char* key, int most) {
  const Json& value = object.at(key);
  if (!value.is_number_integer()) throw std::out_of_range(key);
  const auto found = value.get<std::int64_t>();
  if (found < 0 || found > most) throw std::out_of_range(key);
  return static_cast<int>(found);
}

// `path` names the file in messages.
AttentionPlan plan_of(const Json& json, const std::string& path) {
  AttentionPlan plan;
  const Json& model = json.at("model");
  Json checked;
  for (const char* key : {"name", "family", "config_sha256", "weights_sha256"}) {
    if (model.contains(key)) checked[key] = model.at(key).get<std::string>();
  }
  for (const char* key : {"layers", "heads", "kv_heads"}) {
    checked[key] = number(model, key, kMostHeads);
  }
  plan.model = model_from_json(checked);
  const int layers = *plan.model.layers, kv_heads = *plan.model.kv_heads;
  if (layers < 1 || kv_heads < 1 || layers > kMostHeads / kv_heads) {
    throw std::out_of_range("layers");
  }
  plan.context = json.contains("context") ? number(json, "context", 1 << 30) : 0;
  plan.heads = {layers, kv_heads};
  for (const Json& entry : json.at("heads")) {
    const int layer = number(entry, "layer", kMostHeads),
              head = number(entry, "kv_head", kMostHeads);
    const std::string name = fmt::format("{}: key-value head {}.{}", path, layer, head);
    refuse_if(layer >= layers || head >= kv_heads, name,
              fmt::format("one of {} layers of {} key-value heads", layers, kv_heads),
              "a head that the model does not have", "correct or remove it");
    HeadPlan& of_head = plan.heads(layer, head);
    refuse_if(of_head.changes(), name, "one entry for each head", "it twice", "remove one of them");
    of_head = {entry.value("pattern", std::string()), entry.value("normalizer", std::string())};
    for (const auto& [key, value] : entry.items()) {
      const bool known = std::ranges::count(kEntryKeys, key) > 0;
      if (known && (!value.is_string() || value != "")) continue;
      throw BadInputError(fault(name, "layer, kv_head, pattern and normalizer, none of them empty",
                                (known ? "an empty " : "") + in_quotes(key),
                                "correct or remove it"));
    }
    make_intervention(of_head);  // throws if it is invalid
  }
  for (const auto& [key, value] : json.items()) {
    if (std::ranges::count(kPlanKeys, key) == 0) plan.measured[key] = value;
  }
  return plan;
}

}  // namespace

std::string HeadPlan::text() const {
  if (!changes()) return "full";
  if (pattern.empty() || normalizer.empty()) return pattern + normalizer;
  return pattern + " " + normalizer;
}

AttentionPlan empty_plan(const HeadSource& source) {
  AttentionPlan plan;
  plan.model = model_of(source);
  plan.heads = {source.info().layers, source.info().kv_heads};
  return plan;
}

AttentionPlan parse_plan(std::string_view text, const std::string& path) {
  constexpr const char* kAdvice = "give a file that headgauge plan wrote (docs/formats.md)";
  const Json json = parse_json_object<Json>(text, path, kAdvice);
  try {
    const std::string schema = json.at("schema");
    if (schema != kPlanSchema) {
      if (!schema.starts_with("headgauge.plan/")) throw std::out_of_range("schema");
      throw UnsupportedError(fault(path, kPlanSchema, schema, "use a newer headgauge"));
    }
    AttentionPlan plan = plan_of(json, path);
    plan.sha256 = text_sha256(text);
    return plan;
  } catch (const nlohmann::json::exception&) {
    throw BadInputError(fault(path, "a plan", "something else", kAdvice));
  } catch (const std::out_of_range&) {
    throw BadInputError(fault(path, "a plan", "something else", kAdvice));
  } catch (const UsageError& error) {
    throw BadInputError(fmt::format("{}: {}", path, error.what()));
  }
}

AttentionPlan read_plan(const std::string& path) {
  return parse_plan(read_file(path), path);
}

void write_plan(const AttentionPlan& plan, const std::string& path) {
  write_atomically(path, plan_text(plan));
}

std::string plan_text(const AttentionPlan& plan) {
  Json json = {{"schema", kPlanSchema}, {"model", to_json(plan.model)}};
  if (plan.context > 0) json["context"] = plan.context;
  json["heads"] = Json::array();
  plan.heads.each([&](int layer, int head, const HeadPlan& of_head) {
    if (!of_head.changes()) return;
    Json entry = {{"layer", layer}, {"kv_head", head}};
    if (!of_head.pattern.empty()) entry["pattern"] = of_head.pattern;
    if (!of_head.normalizer.empty()) entry["normalizer"] = of_head.normalizer;
    json["heads"].push_back(std::move(entry));
  });
  for (const auto& [key, value] : plan.measured.items()) json[key] = value;
  return json_text(json, 1) + "\n";
}

HeadInterventions make_interventions(const AttentionPlan& plan, const HeadSource& source,
                                     const std::string& name) {
  require_model(plan, source, name);
  const SourceInfo& info = source.info();
  plan.heads.each([&](int layer, int head, const HeadPlan& of_head) {
    if (!of_head.changes() || info.has_attention(layer)) return;
    throw BadInputError(fault(fmt::format("{}: key-value head {}.{}", name, layer, head),
                              "a head of a layer with attention",
                              "a head in a layer without attention", "correct or remove it"));
  });
  return make_interventions(plan.heads, info);
}

HeadInterventions make_interventions(const PerHead<HeadPlan>& heads, const SourceInfo& source) {
  std::map<std::string, HeadIntervention> made;
  HeadInterventions interventions(source.layers, source.heads);
  const int shared = source.heads / source.kv_heads;
  interventions.each([&](int layer, int head, HeadIntervention& here) {
    const HeadPlan& of_head = heads(layer, head / shared);
    if (!of_head.changes()) return;
    const auto [place, is_new] = made.try_emplace(of_head.text());
    if (is_new) place->second = make_intervention(of_head);
    here = place->second;
  });
  return interventions;
}

Index cached_keys(const HeadIntervention& head, int layer, const SourceInfo& source,
                  Index context) {
  if (!source.has_attention(layer)) return 0;
  const Index window = source.windows.empty() ? 0 : source.windows[static_cast<std::size_t>(layer)];
  const Index visible = window > 0 ? std::min(window, context) : context;
  if (head.pattern != nullptr) return std::min(visible, head.pattern->cached_keys(context));
  if (head.normalizer == nullptr) return visible;
  return head.normalizer->softmax_scale({2, 1}) == 0.0 ? 1 : visible;
}

Index cached_keys(const HeadPlan& head, int layer, const SourceInfo& source, Index context) {
  return cached_keys(make_intervention(head), layer, source, context);
}

double cached_bytes(const HeadInterventions& heads, const SourceInfo& source, Index context) {
  const int shared = source.heads / source.kv_heads;
  Index keys = 0, most = 0;
  heads.each([&](int layer, int head, const HeadIntervention& of_head) {
    most = std::max(most, cached_keys(of_head, layer, source, context));
    if ((head + 1) % shared == 0) keys += std::exchange(most, 0);
  });
  constexpr double kServed = 2;  // bytes of a number
  return kServed / source.element_bytes * static_cast<double>(keys * bytes_of_key(source));
}

double cache_share(const PerHead<HeadPlan>& heads, const SourceInfo& source, Index context) {
  Index kept = 0, all = 0;
  heads.each([&](int layer, int, const HeadPlan& of_head) {
    kept += cached_keys(of_head, layer, source, context);
    all += cached_keys(HeadPlan{}, layer, source, context);
  });
  return static_cast<double>(kept) / static_cast<double>(all);
}

std::size_t bytes_of_key(const SourceInfo& source) {
  const Index values = source.value_dim > 0 ? source.value_dim : source.head_dim;
  return static_cast<std::size_t>((source.head_dim + values) * source.element_bytes);
}

}  // namespace headgauge
