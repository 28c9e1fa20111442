// results.json, the reading half: every fault is a BadInputError that names the place in the file.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/file.hpp"
#include "headgauge/results.hpp"
#include "results/schema.hpp"
#include "results/schema_1.hpp"

namespace headgauge {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kAdvice = "give a results.json written by headgauge";

// What a value is, for a message: short, whatever its size.
std::string shown(const Json& json) {
  if (json.is_array()) return "a list of " + std::to_string(json.size());
  if (json.is_object()) return "an object";
  std::string text = json.dump(-1, ' ', true, Json::error_handler_t::replace);
  constexpr std::size_t kLongest = 40;
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
  return text;
}

[[noreturn]] void fail(const std::string& where, const std::string& expected,
                       const std::string& found) {
  throw BadInputError(fault(where, expected, found, kAdvice));
}

// A place in the document: the file and the path of keys to a value.
struct Place {
  const Json& json;
  std::string where;

  Place operator[](const char* key) const {
    if (!json.is_object()) fail(where, "an object", shown(json));
    const auto it = json.find(key);
    if (it == json.end()) fail(where, "a key \"" + std::string(key) + "\"", "none");
    return {*it, where + ": " + key};
  }
  Place at(std::size_t i) const { return {json[i], where + "[" + std::to_string(i) + "]"}; }
  bool has(const char* key) const { return json.is_object() && json.contains(key); }
};

std::string text_at(const Place& place) {
  if (!place.json.is_string()) fail(place.where, "a string", shown(place.json));
  return place.json.get<std::string>();
}

int whole_at(const Place& place) {
  if (!place.json.is_number_integer()) fail(place.where, "a whole number", shown(place.json));
  const auto value = place.json.get<std::int64_t>();
  if (value < std::numeric_limits<int>::min() || value > std::numeric_limits<int>::max()) {
    fail(place.where, "a whole number below 2^31", shown(place.json));
  }
  return static_cast<int>(value);
}

double number_at(const Place& place) {
  if (place.json.is_null()) return kUndefined;
  if (!place.json.is_number()) fail(place.where, "a number or null", shown(place.json));
  return place.json.get<double>();
}

bool truth_at(const Place& place) {
  if (!place.json.is_boolean()) fail(place.where, "true or false", shown(place.json));
  return place.json.get<bool>();
}

std::size_t list_size(const Place& place) {
  if (!place.json.is_array()) fail(place.where, "a list", shown(place.json));
  return place.json.size();
}

// Each item of a list through `read`.
template <class Read>
auto list_at(const Place& place, Read read) {
  std::vector<decltype(read(place))> list;
  const std::size_t size = list_size(place);
  for (std::size_t i = 0; i < size; ++i) list.push_back(read(place.at(i)));
  return list;
}

std::vector<std::string> texts_at(const Place& place) {
  return list_at(place, text_at);
}

Coordinate coordinate_at(const Place& place) {
  const std::size_t size = list_size(place);
  if (size > 0 && place.json.front().is_string()) return texts_at(place);
  std::vector<double> numbers;
  for (std::size_t i = 0; i < size; ++i) {
    const Place item = place.at(i);
    if (!item.json.is_number()) fail(item.where, "a number", shown(item.json));
    numbers.push_back(item.json.get<double>());
  }
  return numbers;
}

void read_cell(const Json& json, const std::string& where, std::vector<double>& out) {
  out.push_back(number_at({json, where}));
}

void read_cell(const Json& json, const std::string& where, std::vector<std::int64_t>& out) {
  if (!json.is_number_integer()) fail(where, "a whole number", shown(json));
  out.push_back(json.get<std::int64_t>());
}

// Flattens nested arrays of the given sizes. Nothing is reserved in advance: the sizes come from
// the file and need not be true.
template <class T>
void flatten(const Json& json, const std::string& where, std::span<const std::string> dims,
             std::span<const Index> sizes, std::vector<T>& out) {
  if (sizes.empty()) return read_cell(json, where, out);
  if (!json.is_array() || static_cast<Index>(json.size()) != sizes.front()) {
    fail(where, "a list of " + std::to_string(sizes.front()) + " (" + dims.front() + ")",
         shown(json));
  }
  for (std::size_t i = 0; i < json.size(); ++i) {
    // The path of a cell is put together only for a level that may fail there.
    if (sizes.size() == 1) {
      const Json& item = json[i];
      if (item.is_number() || item.is_null()) {
        read_cell(item, where, out);
        continue;
      }
    }
    flatten(json[i], where + "[" + std::to_string(i) + "]", dims.subspan(1), sizes.subspan(1), out);
  }
}

LabelledArray metric_at(const Place& place, const Results& results) {
  std::vector<Dimension> dims;
  std::vector<Index> sizes;
  const std::vector<std::string> names = texts_at(place["dims"]);
  for (const std::string& name : names) {
    const Dimension* dim = results.coord(name);
    if (dim == nullptr) fail(place.where + ": dims", "names of coords", "\"" + name + "\"");
    if (std::ranges::find(dims, name, &Dimension::name) != dims.end()) {
      fail(place.where + ": dims", "each name once", "\"" + name + "\" twice");
    }
    dims.push_back(*dim);
    sizes.push_back(dim->size());
  }
  const std::string unit = text_at(place["unit"]);
  // The sizes come from the file and need not be true: the values decide how much is held.
  const auto read = [&](const char* key, auto& out) {
    const Place values = place[key];
    out.clear();
    flatten(values.json, values.where, names, sizes, out);
  };
  std::vector<double> values;
  read("values", values);
  LabelledArray metric(std::move(dims), unit);
  metric.values = std::move(values);
  if (place.has("stderr")) read("stderr", metric.standard_error);
  if (place.has("rows")) read("rows", metric.rows);
  if (place.has("none")) metric.none = number_at(place["none"]);
  if (place.has("identifier")) metric.identifier = truth_at(place["identifier"]);
  if (place.has("change_of")) metric.change_of = text_at(place["change_of"]);
  return metric;
}

Flag flag_at(const Place& place) {
  Flag flag;
  flag.name = text_at(place["name"]);
  flag.layer = whole_at(place["layer"]);
  flag.head = whole_at(place["head"]);
  flag.length = whole_at(place["length"]);
  flag.value = number_at(place["value"]);
  flag.threshold = number_at(place["threshold"]);
  flag.source = text_at(place["source"]);
  flag.advice = text_at(place["advice"]);
  if (place.has("partner")) flag.partner = whole_at(place["partner"]);
  if (place.has("change")) flag.change = text_at(place["change"]);
  return flag;
}

std::vector<Index> cell_at(const Place& place) {
  return list_at(place, [](const Place& index) { return static_cast<Index>(whole_at(index)); });
}

FactSource source_at(const Place& place) {
  FactSource source;
  const std::string kind = text_at(place["kind"]);
  bool known = false;
  for (int k = 0; k <= static_cast<int>(FactSource::Kind::length_limit); ++k) {
    source.kind = static_cast<FactSource::Kind>(k);
    if ((known = kind == kind_text(source.kind))) break;
  }
  if (!known) fail(place["kind"].where, "the kind of a number's source", "\"" + kind + "\"");
  if (place.has("name")) source.name = text_at(place["name"]);
  if (place.has("cell")) source.cell = cell_at(place["cell"]);
  return source;
}

Fact fact_at(const Place& place) {
  // Schema 1 says in the name of the metric what kind of source it is.
  FactSource source = place.has("metric")
                          ? source_of_schema_1(text_at(place["metric"]), cell_at(place["cell"]))
                          : source_at(place);
  return {text_at(place["text"]), std::move(source), number_at(place["value"]),
          number_at(place["scale"])};
}

SummaryLine summary_at(const Place& place) {
  return {text_at(place["text"]), list_at(place["facts"], fact_at), texts_at(place["heads"])};
}

Verdict verdict_at(const Place& place) {
  const std::string text = text_at(place);
  for (const Verdict verdict : {Verdict::holds, Verdict::does_not_hold, Verdict::cannot_tell}) {
    if (text == verdict_text(verdict)) return verdict;
  }
  fail(place.where, "holds, does not hold or cannot tell", shown(place.json));
}

Change change_at(const Place& place) {
  Change change;
  change.metric = text_at(place["metric"]);
  const Place labels = place["labels"];
  if (!labels.json.is_object()) fail(labels.where, "an object", shown(labels.json));
  for (const auto& [dim, label] : labels.json.items()) {
    change.labels.emplace_back(dim, text_at({label, labels.where + ": " + dim}));
  }
  change.cell = cell_at(place["cell"]);
  change.before = number_at(place["before"]);
  change.after = number_at(place["after"]);
  change.change = number_at(place["change"]);
  change.standard_error = number_at(place["stderr"]);
  change.errors = number_at(place["errors"]);
  if (change.standard_error == 0) change.errors = std::numeric_limits<double>::infinity();
  change.relative = number_at(place["relative"]);
  change.values = whole_at(place["values"]);
  change.changed = whole_at(place["changed"]);
  return change;
}

ChangeList changes_at(const Place& counts, const Place& changes) {
  ChangeList list;
  list.threshold = number_at(counts["threshold"]);
  list.values = whole_at(counts["values"]);
  list.changed = whole_at(counts["changed"]);
  list.by_chance = number_at(counts["by_chance"]);
  list.unmeasured_values = whole_at(counts["unmeasured_values"]);
  list.unmeasured_changed = whole_at(counts["unmeasured_changed"]);
  list.too_few = whole_at(counts["too_few"]);
  for (Change& change : list_at(changes, change_at)) {
    (std::isnan(change.standard_error) ? list.unmeasured : list.measured)
        .push_back(std::move(change));
  }
  return list;
}

Claim claim_at(const Place& place) {
  Claim claim;
  claim.name = text_at(place["name"]);
  claim.paper = text_at(place["paper"]);
  claim.figure = text_at(place["figure"]);
  claim.statement = text_at(place["statement"]);
  claim.reading = text_at(place["reading"]);
  claim.test = text_at(place["test"]);
  claim.measured = text_at(place["measured"]);
  claim.verdict = verdict_at(place["verdict"]);
  claim.facts = list_at(place["facts"], [](const Place& fact) {
    return Claim::Fact{text_at(fact["name"]), number_at(fact["value"])};
  });
  return claim;
}

Command command_at(const Place& place) {
  const std::string text = text_at(place);
  for (int k = 1; k <= static_cast<int>(Command::diff); ++k) {
    if (text == command_text(static_cast<Command>(k))) return static_cast<Command>(k);
  }
  fail(place.where, "a command that writes results", shown(place.json));
}

Json object_at(const Place& root, const char* key) {
  if (!root.has(key)) return Json::object();
  const Place place = root[key];
  if (!place.json.is_object()) fail(place.where, "an object", shown(place.json));
  return place.json;
}

// The major version.
int check_schema(const Place& root) {
  const std::string schema = text_at(root["schema"]);
  const Place place = root["schema"];
  const std::string expected = "\"" + std::string(kResultsSchema) + "\"";
  if (schema.rfind(kResultsFormat, 0) != 0) fail(place.where, expected, shown(place.json));
  int major = 0;
  const char* first = schema.data() + kResultsFormat.size();
  const char* last = schema.data() + schema.size();
  const auto [end, error] = std::from_chars(first, last, major);
  if (error != std::errc{} || (end != last && *end != '.') || major < 1) {
    fail(place.where, expected, shown(place.json));
  }
  if (major > kResultsMajor) {
    throw UnsupportedError(fault(place.where, expected + " or older", shown(place.json),
                                 "read it with a newer headgauge"));
  }
  return major;
}

}  // namespace

Results results_from_json(const nlohmann::ordered_json& json, const std::string& where) {
  const Place root{json, where};
  const int major = check_schema(root);
  Results results;
  results.tool = object_at(root, "tool");
  results.model = object_at(root, "model");
  results.text = object_at(root, "text");
  results.settings = object_at(root, "settings");
  results.timings = object_at(root, "timings");
  if (root.has("partial")) results.partial = truth_at(root["partial"]);
  if (root.has("layers_done")) results.layers_done = whole_at(root["layers_done"]);

  const Json coords = object_at(root, "coords");
  for (const auto& [name, values] : coords.items()) {
    results.set_coord(name, coordinate_at({values, where + ": coords: " + name}));
  }
  const Place metrics = root["metrics"];
  if (!metrics.json.is_object()) fail(metrics.where, "an object", shown(metrics.json));
  for (const auto& [name, metric] : metrics.json.items()) {
    results.metrics.emplace_back(name, metric_at({metric, metrics.where + ": " + name}, results));
  }
  if (root.has("flags")) results.flags = list_at(root["flags"], flag_at);
  if (root.has("summary")) results.summary = list_at(root["summary"], summary_at);
  if (root.has("claims")) results.claims = list_at(root["claims"], claim_at);
  if (root.has("changes")) results.changes = changes_at(root["change_counts"], root["changes"]);
  if (root.has("notices")) results.notices = texts_at(root["notices"]);
  if (major == 1) {
    complete_schema_1(results);
  } else if (root.has("command")) {
    results.command = command_at(root["command"]);
  }
  return results;
}

Results parse_results(std::string_view text, const std::string& where) {
  Json json;
  try {
    json = Json::parse(text.begin(), text.end());
  } catch (const Json::parse_error& error) {
    // The byte of the last token read, counted from 1; at the end of the file it is one past it.
    throw BadInputError(fault(where, "JSON",
                              error.byte > text.size()
                                  ? "the end of the file at byte " + std::to_string(text.size())
                                  : "something else at byte " + std::to_string(error.byte),
                              "the file is damaged or not a results.json: write it again"));
  } catch (const Json::exception&) {
    fail(where, "numbers that fit float64", "a larger one");
  }
  return results_from_json(json, where);
}

Results read_results(const std::string& path) {
  return parse_results(read_text(path), path);
}

}  // namespace headgauge
