#include "model/families.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "headgauge/results.hpp"
#include "headgauge/tokenize.hpp"
#include "model/llama_config.hpp"

namespace headgauge {
namespace {

struct Family {
  const char* model_type;
  ModelSummary (*summarize)(const Checkpoint&);
  std::unique_ptr<Transformer> (*make)(Checkpoint, const ModelSummary&);
};

const std::vector<Family>& families() {
  static const std::vector<Family> all = [] {
    std::vector<Family> list = {{"gpt2", summarize_gpt2, make_gpt2},
                                {"bert", summarize_bert, make_bert}};
    for (const LlamaFamily& like : llama_families()) {
      list.push_back({like.model_type, summarize_llama, make_llama});
    }
    return list;
  }();
  return all;
}

const Family& find_family(const Checkpoint& checkpoint) {
  const ConfigReader& config = checkpoint.config();
  const auto type = config.get<std::string>("model_type");
  std::string known;
  for (const Family& family : families()) {
    if (type == family.model_type) return family;
    known += (known.empty() ? "" : ", ") + std::string(family.model_type);
  }
  const bool is_export = type.starts_with("headgauge_");  // of plan --export hf
  throw UnsupportedError(
      fault(config.where("model_type"), "a family that headgauge runs (" + known + ")",
            "\"" + type + "\"",
            is_export ? "give the model that was exported, with its plan as --plan"
                      : "measure it from Python, as docs/python.md says, or scan a dump"));
}

// Refuses sizes and layer counts that cannot match these tensors, naming the config field, before
// anything of that size is allocated. The family checks missing tensors and shapes.
void require_sizes(const Checkpoint& checkpoint) {
  Index largest = 1;
  const std::vector<std::string_view> names = checkpoint.names();
  for (const std::string_view name : names) {
    for (const Index size : checkpoint.find(name)->shape) largest = std::max(largest, size);
  }
  const ConfigReader& config = checkpoint.config();
  const auto require = [&](const char* field, Index most, const std::string& why) {
    if (!config.has(field) || config.get_size(field, 0) <= most) return;
    throw BadInputError(fault(config.where(field), fmt::format("at most {}, for {}", most, why),
                              std::to_string(config.get_size(field, 0)),
                              "weights and config must come from the same model"));
  };
  for (const char* field : {"n_layer", "num_hidden_layers"}) {
    require(field, std::ssize(names), "the weights have no more tensors");
  }
  for (const char* field :
       {"n_head", "n_embd", "n_inner", "vocab_size", "num_attention_heads", "num_key_value_heads",
        "hidden_size", "intermediate_size", "head_dim", "type_vocab_size"}) {
    require(field, largest, "no tensor has a larger dimension");
  }
}

// Refuses fields that change the result and that headgauge does not support.
void refuse_unknown(const ConfigReader& config, const std::string& type) {
  const auto causal = config.json().find("is_causal");
  const bool sees_all = type != "bert" && causal != config.json().end() && *causal != true;
  if (sees_all || config.get_or("use_bidirectional_attention", false)) {
    const char* const field = sees_all ? "is_causal" : "use_bidirectional_attention";
    throw UnsupportedError(fault(config.where(field), sees_all ? "true" : "false",
                                 config.json().at(field).dump(),
                                 "headgauge runs this family as a causal model"));
  }
  if (config.has("quantization_config")) {
    throw UnsupportedError(
        fault(config.where("quantization_config"), "weights of 16 or 32 bits",
              config.child("quantization_config").get_or<std::string>("quant_method", "quantized"),
              "use the checkpoint that was quantized"));
  }
}

// The common checks come before a family's own.
ModelSummary summarize(const Family& family, const Checkpoint& checkpoint) {
  require_sizes(checkpoint);
  refuse_unknown(checkpoint.config(), family.model_type);
  return family.summarize(checkpoint);
}

}  // namespace

void describe_model(const Checkpoint& checkpoint, Results& results) {
  const ModelSummary summary = summarize_model(checkpoint);
  ModelRecord& model = results.model;
  model.parameters = summary.parameters;
  model.width = summary.width;
  model.vocabulary = summary.vocabulary;
  if (summary.positions > 0) model.positions = summary.positions;
  if (summary.trained_length > 0) model.trained_length = summary.trained_length;
  if (!summary.causal) model.causal = false;
  model.rope = summary.rope;
  if (summary.score_cap > 0) model.score_softcap = summary.score_cap;
  if (summary.logit_cap > 0) model.logit_softcap = summary.logit_cap;
  model.config_sha256 = checkpoint.config().sha256();
  model.weights_sha256 = checkpoint.weights_sha256();
}

ModelSummary summarize_model(const Checkpoint& checkpoint) {
  return summarize(find_family(checkpoint), checkpoint);
}

std::unique_ptr<ModelSource> make_model_source(const ResolvedModel& model,
                                               std::vector<Document> documents,
                                               const SourceOptions& options) {
  return make_model_source(Checkpoint(model), std::move(documents), options);
}

std::unique_ptr<ModelSource> make_model_source(Checkpoint checkpoint,
                                               std::vector<Document> documents,
                                               const SourceOptions& options) {
  const Family& family = find_family(checkpoint);
  const ModelSummary summary = summarize(family, checkpoint);
  for (const Document& document : documents) {  // ids that are not held were checked when they were
                                                // read
    for (const std::vector<int>* ids : {&document.before, &document.tokens, &document.after}) {
      check_ids(*ids, summary.vocabulary, document.name);
    }
  }
  return make_transformer_source(family.make(std::move(checkpoint), summary), std::move(documents),
                                 options);
}

}  // namespace headgauge
