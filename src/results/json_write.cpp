// results.json, the writing half. Metrics are turned to JSON one at a time, so that a model of a
// thousand heads never needs the whole document as a tree.
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
Json nest(const Results& results, const MetricArray& metric, const std::vector<T>& values) {
  std::vector<Index> sizes;
  Index cells = 1;
  for (const std::string& dim : metric.dims) {
    sizes.push_back(results.coord_size(dim));
    cells *= sizes.back();
  }
  if (cells != static_cast<Index>(values.size())) {
    throw UsageError(fault("results", std::to_string(cells) + " values of a metric",
                           std::to_string(values.size()), "coordinates changed after add_metric"));
  }
  std::size_t next = 0;
  return nest(values, sizes, next);
}

Json metric_to_json(const Results& results, const MetricArray& metric) {
  Json json;
  json["dims"] = metric.dims;
  json["unit"] = metric.unit;
  json["values"] = nest(results, metric, metric.values);
  if (!metric.standard_error.empty()) json["stderr"] = nest(results, metric, metric.standard_error);
  if (!metric.rows.empty()) json["rows"] = nest(results, metric, metric.rows);
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

Json summary_to_json(const SummaryLine& line) {
  Json facts = Json::array();
  for (const Fact& fact : line.facts) {
    facts.push_back({{"text", fact.text},
                     {"metric", fact.metric},
                     {"cell", fact.cell},
                     {"value", cell(fact.value)},
                     {"scale", fact.scale}});
  }
  return {{"text", line.text}, {"heads", line.heads}, {"facts", std::move(facts)}};
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
  json["tool"] = results.tool;
  json["model"] = results.model;
  json["text"] = results.text;
  json["settings"] = results.settings;
  json["partial"] = results.partial;
  json["layers_done"] = results.layers_done;
  json["coords"] = Json::object();
  for (const auto& [name, values] : results.coords) {
    json["coords"][name] = coordinate_to_json(values);
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
    put(separator + json_text(name) + ": " + json_text(metric_to_json(results, metric)));
    separator = ",\n    ";
  }
  put("\n  },\n" + entry_lines(tail_to_json(results)) + "\n}\n");
}

}  // namespace

std::string json_text(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
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
    json["metrics"][name] = metric_to_json(results, metric);
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
