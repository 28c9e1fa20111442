// headgauge inspect: shows the contents of a checkpoint or dump without computing anything.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/print.hpp"
#include "cli/table_header.hpp"
#include "headgauge/checkpoint.hpp"
#include "headgauge/memory.hpp"
#include "headgauge/model.hpp"
#include "headgauge/tokenize.hpp"

namespace headgauge::cli {
namespace {

using Facts = nlohmann::ordered_json;

Facts inspect_dump(const ResolvedModel& model) {
  const DumpFile dump(model.weights.front());
  Facts facts = {{"name", model.name},
                 {"kind", "dump"},
                 {"file", model.weights.front()},
                 {"layers", dump.layers().size()},
                 {"heads", dump.heads()},
                 {"kv_heads", dump.kv_heads()},
                 {"length", dump.length()},
                 {"causal", dump.causal()},
                 {"scores", dump.has_scores()}};
  if (dump.head_dim() > 0) facts["head_dim"] = dump.head_dim();
  if (dump.value_dim() > 0) facts["value_dim"] = dump.value_dim();
  if (dump.x_dim() > 0) facts["x_dim"] = dump.x_dim();
  return facts;
}

// Returns the scale of the scores as a formula of the printed sizes and the layer number from 0.
std::string scale_text(const ModelSummary& summary) {
  const std::string root =
      summary.scaled_by > 0 ? fmt::format("sqrt({})", summary.scaled_by) : "sqrt(head_dim)";
  const std::string by_dimension = summary.scaled_by_dimension ? root : "";
  const std::string by_layer = summary.scaled_by_layer ? "(layer + 1)" : "";
  if (by_dimension.empty() && by_layer.empty()) return "1";
  const bool both = !by_dimension.empty() && !by_layer.empty();
  return "1/" + (both ? "(" + by_dimension + " " + by_layer + ")" : by_dimension + by_layer);
}

Facts inspect_checkpoint(const ResolvedModel& model) {
  const Checkpoint checkpoint(model);
  const ModelSummary summary = summarize_model(checkpoint);
  Facts facts = {{"name", model.name},           {"kind", "checkpoint"},
                 {"folder", model.folder},       {"family", summary.family},
                 {"layers", summary.layers},     {"heads", summary.heads},
                 {"kv_heads", summary.kv_heads}, {"head_dim", summary.head_dim},
                 {"width", summary.width},       {"vocabulary", summary.vocabulary}};
  if (summary.positions > 0) facts["positions"] = summary.positions;
  if (summary.trained_length > 0) facts["trained_length"] = summary.trained_length;
  facts["causal"] = summary.causal;
  facts["parameters"] = summary.parameters;
  facts["activation"] = summary.activation;
  facts["attention_scale"] = scale_text(summary);
  if (!summary.rope.empty()) facts["rope"] = summary.rope;
  if (!summary.windows.empty()) facts["sliding_window"] = windows_text(summary.windows);
  if (summary.score_cap > 0) facts["score_softcap"] = summary.score_cap;
  if (summary.logit_cap > 0) facts["logit_softcap"] = summary.logit_cap;
  facts["tokenizer"] = Tokenizer::kind(model.tokenizer());
  facts["prefix"] = summary.prefix;
  facts["files"] = model.weights.size();
  facts["tensors"] = checkpoint.names().size();
  facts["bytes"] = checkpoint.bytes();
  std::map<std::string, int> types;
  for (std::string_view name : checkpoint.names()) {
    ++types[std::string(dtype_name(checkpoint.find(name)->dtype))];
  }
  for (const auto& [type, count] : types) facts["types"][type] = count;
  for (const auto& [key, value] : checkpoint.metadata()) facts["metadata"][key] = value;
  facts["config_sha256"] = checkpoint.config().sha256();
  facts["weights_sha256"] = checkpoint.weights_sha256();
  return facts;
}

int inspect(const std::string& name, bool json) {
  const ResolvedModel model = resolve_model(name);
  Facts facts =
      model.kind == ResolvedModel::Kind::dump ? inspect_dump(model) : inspect_checkpoint(model);
  if (json) {
    print("{}\n", facts.dump(2, ' ', true, Facts::error_handler_t::replace));
    return 0;
  }
  if (facts.contains("bytes")) facts["bytes"] = format_bytes(facts["bytes"].get<std::size_t>());
  print_fields(facts);
  return 0;
}

}  // namespace

void add_inspect(CommandNode& app) {
  const auto model = std::make_shared<std::string>();
  const auto json = std::make_shared<bool>(false);
  app.add({.name = "inspect",
           .about = "Show what a checkpoint or dump file holds",
           .example = "Example: headgauge inspect demo/model",
           .operands = {{.name = "MODEL",
                         .help = "A model as for headgauge scan",
                         .value = model.get()}},
           .options = declared_options("InspectCommand", {{"json", json.get()}}),
           .run = [=](const CommandNode&) { return inspect(*model, *json); }});
}

}  // namespace headgauge::cli
