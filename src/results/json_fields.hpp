// Declares the fields of the records and lists in a results file once, for reading and writing.
// Calls an `Io` with the key and the member of each field, in the order of the file; io.optional()
// marks a field that is left out if it is empty.
#pragma once

#include "headgauge/results.hpp"

namespace headgauge {

template <class Io>
void fields(Io& io, ToolRecord& tool) {
  io.optional("name", tool.name);
  io.optional("version", tool.version);
  io.optional("simd", tool.simd);
  io.optional("threads", tool.threads);
}

template <class Io>
void fields(Io& io, ModelRecord& model) {
  io.optional("name", model.name);
  io.optional("family", model.family);
  io.optional("layers", model.layers);
  io.optional("heads", model.heads);
  io.optional("kv_heads", model.kv_heads);
  io.optional("head_dim", model.head_dim);
  io.optional("parameters", model.parameters);
  io.optional("width", model.width);
  io.optional("vocabulary", model.vocabulary);
  io.optional("positions", model.positions);
  io.optional("trained_length", model.trained_length);
  io.optional("class", model.class_name);
  io.optional("dtype", model.dtype);
  io.optional("causal", model.causal);
  io.optional("scale", model.scale);
  io.optional("attention", model.attention);
  io.optional("rope", model.rope);
  io.optional("score_softcap", model.score_softcap);
  io.optional("logit_softcap", model.logit_softcap);
  io.optional("config_sha256", model.config_sha256);
  io.optional("weights_sha256", model.weights_sha256);
}

template <class Io>
void fields(Io& io, FoundSink& sink) {
  io("position", sink.position);
  io("heads", sink.heads);
  io("first_layer", sink.first_layer);
  io("last_layer", sink.last_layer);
  io.optional("token", sink.token);
}

template <class Io>
void fields(Io& io, TaskRecord& task) {
  io("task", task.task);
  io("name", task.name);
  io("sha256", task.sha256);
  io("cases", task.cases);
  io("controls", task.controls);
  io("shortest", task.shortest);
  io("tokens", task.tokens);
}

template <class Io>
void fields(Io& io, TextRecord& text) {
  io.optional("names", text.names);
  io.optional("sha256", text.sha256);
  io.optional("tokens", text.tokens);
  io.optional("tokens_total", text.tokens_total);
  io.optional("first", text.first);
  io.optional("tasks", text.tasks);
  io.optional("sinks", text.sinks);
}

template <class Io>
void fields(Io& io, Timings& timings) {
  io.optional("forward_s", timings.forward);
  io.optional("measure_s", timings.measure);
  io.optional("sampling_s", timings.sampling);
  io.optional("original_s", timings.original);
  io.optional("scans_s", timings.scans);
  io.optional("total_s", timings.total);
  io.optional("converge_s", timings.converge);
  io.optional("losses", timings.losses);
}

template <class Io>
void fields(Io& io, Flag& flag) {
  io("name", flag.name);
  io("layer", flag.layer);
  io("head", flag.head);
  io("length", flag.length);
  io("value", flag.value);
  io("threshold", flag.threshold);
  io("source", flag.source);
  io.optional("advice", flag.advice);
  io.optional("change", flag.change);
}

template <class Io>
void fields(Io& io, Fact& fact) {
  io("text", fact.text);
  io("kind", fact.source.kind);
  io.optional("name", fact.source.name);
  io.optional("cell", fact.source.cell);
  io("value", fact.value);
  io("scale", fact.scale);
}

template <class Io>
void fields(Io& io, SummaryLine& line) {
  io("text", line.text);
  io("heads", line.heads);
  io("facts", line.facts);
  io.optional("lead", line.lead);
  io.optional("verdict", line.verdict);
  io.optional("aside", line.aside);
  io.optional("means", line.means);
  io.optional("next", line.next);
}

template <class Io>
void fields(Io& io, Claim::Fact& fact) {
  io("name", fact.name);
  io("value", fact.value);
}

template <class Io>
void fields(Io& io, Claim& claim) {
  io("name", claim.name);
  io("paper", claim.paper);
  io("figure", claim.figure);
  io("statement", claim.statement);
  io("reading", claim.reading);
  io("test", claim.test);
  io("measured", claim.measured);
  io("verdict", claim.verdict);
  io.optional("theorem", claim.theorem);
  io.optional("ours", claim.ours);
  io.optional("turns", claim.turns);
  io("facts", claim.facts);
}

template <class Io>
void fields(Io& io, Example& example) {
  io("layer", example.layer);
  io("head", example.head);
  io("why", example.why);
  io("value", example.value);
  io("document", example.document);
  io("query", example.query);
  io("covered", example.covered);
  io.optional("others", example.others);
  io("keys", example.keys);
  io("weights", example.weights);
  io.optional("originals", example.originals);
}

template <class Io>
void fields(Io& io, TokenLoss& token) {
  io("document", token.document);
  io("position", token.position);
  io("losses", token.losses);
  io.optional("task", token.task);
}

template <class Io>
void fields(Io& io, Passage& passage) {
  io("document", passage.document);
  io("first", passage.first);
  io("tokens", passage.tokens);
}

// `errors` is null if it is infinite, which means the standard error is 0. The three fields after
// it are left out if there is no standard error.
template <class Io>
void fields(Io& io, Change& change) {
  io("metric", change.metric);
  io("labels", change.labels);
  io("cell", change.cell);
  io("before", change.before);
  io("after", change.after);
  io("change", change.change);
  io("stderr", change.standard_error);
  io("errors", change.errors);
  io.optional("degrees_of_freedom", change.degrees_of_freedom);
  io.optional("p", change.p);
  io.optional("adjusted_p", change.adjusted_p);
  io("relative", change.relative);
  io("values", change.values);
  io("changed", change.changed);
}

// The counts of a list of changes; the file holds the changes in a list of their own.
template <class Io>
void fields(Io& io, ChangeList& list) {
  io("level", list.level);
  io("values", list.values);
  io("changed", list.changed);
  io("by_chance", list.by_chance);
  io("unmeasured_values", list.unmeasured_values);
  io("unmeasured_changed", list.unmeasured_changed);
  io("too_few", list.too_few);
  io("found", list.found);
}

}  // namespace headgauge
