// results.json, the writing half. Metrics are turned to JSON one at a time, so that a model of a
// thousand heads never needs the whole document as a tree.
#include <algorithm>
#include <cmath>
#include <string>

#include "base/file.hpp"
#include "headgauge/results.hpp"
#include "results/header.hpp"
#include "results/schema.hpp"

namespace headgauge {
namespace {

using Json = nlohmann::ordered_json;

// A whole number is written without a fraction: lengths and counts read better so.
Json label(double value) {
  if (std::abs(value) < 0x1p53 && value == std::floor(value)) {
    return static_cast<std::int64_t>(value);
  }
  return value;
}

Json cell(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}
Json cell(std::int64_t value) {
  return value;
}

// Nested arrays in the order of dims; `next` walks the flat values.
template <class T>
Json nest(const std::vector<T>& values, std::span<const Index> sizes, std::size_t& next) {
  if (sizes.empty()) return cell(values[next++]);
  Json list = Json::array();
  for (Index i = 0; i < sizes.front(); ++i) list.push_back(nest(values, sizes.subspan(1), next));
  return list;
}

template <class T>
Json nest(const LabelledArray& metric, const std::vector<T>& values) {
  std::vector<Index> sizes;
  for (const Dimension& dim : metric.dims()) sizes.push_back(dim.size());
  std::size_t next = 0;
  return nest(values, sizes, next);
}

Json metric_to_json(const LabelledArray& metric) {
  Json json = attributes_to_json(metric);
  json["values"] = nest(metric, metric.values);
  if (!metric.standard_error.empty()) json["stderr"] = nest(metric, metric.standard_error);
  if (!metric.rows.empty()) json["rows"] = nest(metric, metric.rows);
  return json;
}

Json coordinate_to_json(const Coordinate& values) {
  if (const auto* names = std::get_if<std::vector<std::string>>(&values)) return *names;
  Json list = Json::array();
  for (const double value : std::get<std::vector<double>>(values)) list.push_back(label(value));
  return list;
}

Json flag_to_json(const Flag& flag) {
  Json json;
  json["name"] = flag.name;
  json["layer"] = flag.layer;
  json["head"] = flag.head;
  json["length"] = flag.length;
  json["value"] = cell(flag.value);
  json["threshold"] = cell(flag.threshold);
  json["source"] = flag.source;
  json["advice"] = flag.advice;
  if (flag.partner) json["partner"] = *flag.partner;
  if (!flag.change.empty()) json["change"] = flag.change;
  return json;
}

Json fact_to_json(const Fact& fact) {
  Json json = {{"text", fact.text}, {"kind", kind_text(fact.source.kind)}};
  if (!fact.source.name.empty()) json["name"] = fact.source.name;
  if (!fact.source.cell.empty()) json["cell"] = fact.source.cell;
  json["value"] = cell(fact.value);
  json["scale"] = fact.scale;
  return json;
}

Json summary_to_json(const SummaryLine& line) {
  Json facts = Json::array();
  for (const Fact& fact : line.facts) facts.push_back(fact_to_json(fact));
  return {{"text", line.text}, {"heads", line.heads}, {"facts", std::move(facts)}};
}

// `errors` is null where it is infinite: the standard error is 0 then.
Json change_to_json(const Change& change) {
  Json labels = Json::object();
  for (const auto& [dim, label] : change.labels) labels[dim] = label;
  return {{"metric", change.metric},
          {"labels", std::move(labels)},
          {"cell", change.cell},
          {"before", cell(change.before)},
          {"after", cell(change.after)},
          {"change", cell(change.change)},
          {"stderr", cell(change.standard_error)},
          {"errors", cell(change.errors)},
          {"relative", cell(change.relative)},
          {"values", change.values},
          {"changed", change.changed}};
}

// The changes that stand out most, measured ones first.
Json changes_to_json(const ChangeList& list) {
  Json changes = Json::array();
  for (const auto* part : {&list.measured, &list.unmeasured}) {
    for (const Change& change : std::span(*part).first(std::min(part->size(), kMostChanges))) {
      changes.push_back(change_to_json(change));
    }
  }
  return changes;
}

Json change_counts_to_json(const ChangeList& list) {
  return {{"threshold", list.threshold},
          {"values", list.values},
          {"changed", list.changed},
          {"by_chance", list.by_chance},
          {"unmeasured_values", list.unmeasured_values},
          {"unmeasured_changed", list.unmeasured_changed},
          {"too_few", list.too_few},
          {"listed", std::min(list.measured.size(), kMostChanges) +
                         std::min(list.unmeasured.size(), kMostChanges)},
          {"found", list.measured.size() + list.unmeasured.size()}};
}

Json claim_to_json(const Claim& claim) {
  Json json;
  json["name"] = claim.name;
  json["paper"] = claim.paper;
  json["figure"] = claim.figure;
  json["statement"] = claim.statement;
  json["reading"] = claim.reading;
  json["test"] = claim.test;
  json["measured"] = claim.measured;
  json["verdict"] = verdict_text(claim.verdict);
  json["facts"] = Json::array();
  for (const Claim::Fact& fact : claim.facts) {
    json["facts"].push_back({{"name", fact.name}, {"value", cell(fact.value)}});
  }
  return json;
}

// Everything but the metrics, which stand between the two.
Json head_to_json(const Results& results) {
  Json json;
  json["schema"] = kResultsSchema;
  if (results.command != Command::unknown) json["command"] = command_text(results.command);
  json["tool"] = results.tool;
  json["model"] = results.model;
  json["text"] = results.text;
  json["settings"] = results.settings;
  json["partial"] = results.partial;
  json["layers_done"] = results.layers_done;
  json["coords"] = Json::object();
  for (const Dimension& dim : results.coords) {
    json["coords"][dim.name()] = coordinate_to_json(dim.labels());
  }
  return json;
}

Json tail_to_json(const Results& results) {
  Json json;
  json["flags"] = Json::array();
  for (const Flag& flag : results.flags) json["flags"].push_back(flag_to_json(flag));
  json["summary"] = Json::array();
  for (const SummaryLine& line : results.summary) {
    json["summary"].push_back(summary_to_json(line));
  }
  if (!results.claims.empty()) {
    json["claims"] = Json::array();
    for (const Claim& claim : results.claims) json["claims"].push_back(claim_to_json(claim));
  }
  if (results.changes) {
    json["change_counts"] = change_counts_to_json(*results.changes);
    json["changes"] = changes_to_json(*results.changes);
  }
  json["notices"] = results.notices;
  json["timings"] = results.timings;
  return json;
}

// One line an entry, and one an object in a list of objects.
std::string entry_lines(const Json& json) {
  std::string text;
  for (const auto& [key, value] : json.items()) {
    if (!text.empty()) text += ",\n";
    text += "  " + json_text(key) + ": ";
    if (!value.is_array() || value.empty() || !value.front().is_object()) {
      text += json_text(value);
      continue;
    }
    const char* separator = "[\n    ";
    for (const Json& item : value) {
      text += separator + json_text(item);
      separator = ",\n    ";
    }
    text += "\n  ]";
  }
  return text;
}

// Hands the document to `put` in pieces, none larger than a metric.
template <class Put>
void write_text(const Results& results, const Put& put) {
  put("{\n" + entry_lines(head_to_json(results)) + ",\n  \"metrics\": {");
  const char* separator = "\n    ";
  for (const auto& [name, metric] : results.metrics) {
    put(separator + json_text(name) + ": " + json_text(metric_to_json(metric)));
    separator = ",\n    ";
  }
  put("\n  },\n" + entry_lines(tail_to_json(results)) + "\n}\n");
}

}  // namespace

std::string json_text(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

nlohmann::ordered_json attributes_to_json(const LabelledArray& metric) {
  Json json;
  json["dims"] = metric.dim_names();
  json["unit"] = metric.unit;
  if (metric.none) json["none"] = *metric.none;
  if (metric.identifier) json["identifier"] = true;
  if (!metric.change_of.empty()) json["change_of"] = metric.change_of;
  return json;
}

nlohmann::ordered_json header_to_json(const Results& results) {
  Json json = head_to_json(results);
  json.update(tail_to_json(results));
  return json;
}

nlohmann::ordered_json to_json(const Results& results) {
  Json json = head_to_json(results);
  json["metrics"] = Json::object();
  for (const auto& [name, metric] : results.metrics) {
    json["metrics"][name] = metric_to_json(metric);
  }
  json.update(tail_to_json(results));
  return json;
}

std::string results_text(const Results& results) {
  std::string text;
  write_text(results, [&](std::string_view piece) { text += piece; });
  return text;
}

void write_results(const Results& results, const std::string& path) {
  write_atomically(path, [&](AtomicFile& file) {
    write_text(results, [&](std::string_view piece) { file.write(piece); });
  });
}

}  // namespace headgauge
