// Reads results.json: every fault throws a BadInputError that names the place in the file.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "base/file.hpp"
#include "base/strict_json.hpp"
#include "headgauge/advice.hpp"
#include "headgauge/results.hpp"
#include "results/header.hpp"
#include "results/json_fields.hpp"

namespace headgauge {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kAdvice = "give a results.json written by headgauge";

[[noreturn]] void fail(const std::string& where, const std::string& expected,
                       const std::string& found) {
  throw BadInputError(fault(where, expected, found, kAdvice));
}

// A place in the document: the file and the path of keys to a value.
struct Place {
  const Json& json;
  std::string where;

  Place operator[](const char* key) const {
    if (!json.is_object()) fail(where, "an object", describe(json));
    const auto it = json.find(key);
    if (it == json.end()) fail(where, "a key \"" + std::string(key) + "\"", "none");
    return {*it, where + ": " + key};
  }
  Place at(std::size_t i) const { return {json[i], where + "[" + std::to_string(i) + "]"}; }
  bool has(const char* key) const { return json.is_object() && json.contains(key); }
};

// Read the value at a place as the type of the second argument.
void read(const Place& place, std::string& text) {
  if (!place.json.is_string()) fail(place.where, "a string", describe(place.json));
  text = place.json.get<std::string>();
}

void read(const Place& place, std::int64_t& number) {
  if (!place.json.is_number_integer()) fail(place.where, "a whole number", describe(place.json));
  number = place.json.get<std::int64_t>();
}

void read(const Place& place, int& number) {
  std::int64_t wide = 0;
  read(place, wide);
  if (wide < std::numeric_limits<int>::min() || wide > std::numeric_limits<int>::max()) {
    fail(place.where, "a whole number below 2^31", describe(place.json));
  }
  number = static_cast<int>(wide);
}

void read(const Place& place, double& number) {
  if (!place.json.is_null() && !place.json.is_number()) {
    fail(place.where, "a number or null", describe(place.json));
  }
  number = place.json.is_null() ? kUndefined : place.json.get<double>();
}

void read(const Place& place, bool& truth) {
  if (!place.json.is_boolean()) fail(place.where, "true or false", describe(place.json));
  truth = place.json.get<bool>();
}

// Reads an enum value, up to `last`, by its text.
template <class Enum>
void read_enum(const Place& place, Enum& value, Enum last, std::string_view (*text_of)(Enum),
               const char* expected) {
  std::string text;
  read(place, text);
  for (int k = 0; k <= static_cast<int>(last); ++k) {
    value = static_cast<Enum>(k);
    if (!text.empty() && text == text_of(value)) return;
  }
  fail(place.where, expected, describe(place.json));
}

void read(const Place& place, Verdict& verdict) {
  read_enum(place, verdict, Verdict::not_tested, verdict_text,
            "holds, does not hold, cannot tell or not tested");
}

void read(const Place& place, FactSource::Kind& kind) {
  read_enum(place, kind, FactSource::Kind::length_limit, kind_text,
            "the kind of a number's source");
}

void read(const Place& place, Command& command) {
  read_enum(place, command, Command::monitor, command_text, "a command that writes results");
}

template <class T>
void read(const Place& place, std::optional<T>& value) {
  read(place, value.emplace());
}

void read(const Place& place, std::vector<std::pair<std::string, std::string>>& labels) {
  if (!place.json.is_object()) fail(place.where, "an object", describe(place.json));
  for (const auto& [dim, label] : place.json.items()) {
    read({label, place.where + ": " + dim}, labels.emplace_back(dim, "").second);
  }
}

std::size_t list_size(const Place& place) {
  if (!place.json.is_array()) fail(place.where, "a list", describe(place.json));
  return place.json.size();
}

template <class T>
void read(const Place& place, std::vector<T>& list) {
  const std::size_t size = list_size(place);
  for (std::size_t i = 0; i < size; ++i) read(place.at(i), list.emplace_back());
}

template <class T>
void read(const Place& place, std::vector<std::optional<T>>& list) {
  const std::size_t size = list_size(place);
  for (std::size_t i = 0; i < size; ++i) {
    list.emplace_back();
    if (!place.at(i).json.is_null()) read(place.at(i), list.back());
  }
}

template <class T>
T value_at(const Place& place) {
  T value{};
  read(place, value);
  return value;
}

// Reads the fields of an entry.
struct Reader {
  const Place& place;
  template <class T>
  void operator()(const char* key, T& value) const {
    read(place[key], value);
  }
  template <class T>
  void optional(const char* key, T& value) const {
    if (place.has(key)) read(place[key], value);
  }
};

template <class T>
requires requires(Reader& io, T& entry) {
  fields(io, entry);
}
void read(const Place& place, T& entry) {
  Reader reader{place};
  fields(reader, entry);
}

// Returns true for dims whose labels are used as int.
bool labels_are_int(const std::string& dim) {
  return dim == "layer" || dim == "head" || dim == "length";
}

Coordinate coordinate_at(const Place& place, const std::string& dim) {
  const std::size_t size = list_size(place);
  if (size > 0 && place.json.front().is_string()) return value_at<std::vector<std::string>>(place);
  std::vector<double> numbers;
  for (std::size_t i = 0; i < size; ++i) {
    const Place item = place.at(i);
    if (!item.json.is_number()) fail(item.where, "a number", describe(item.json));
    const double number = item.json.get<double>();
    if (labels_are_int(dim) && !(std::abs(number) <= std::numeric_limits<int>::max())) {
      fail(item.where, "a number below 2^31", describe(item.json));
    }
    numbers.push_back(number);
  }
  return numbers;
}

template <class T>
void read_cell(const Json& json, const std::string& where, std::vector<T>& out) {
  read({json, where}, out.emplace_back());
}

// Flattens nested arrays of the given sizes. Reserves no memory in advance, because the sizes come
// from the file and may be wrong.
template <class T>
void flatten(const Json& json, const std::string& where, std::span<const std::string> dims,
             std::span<const Index> sizes, std::vector<T>& out) {
  if (sizes.empty()) return read_cell(json, where, out);
  if (!json.is_array() || static_cast<Index>(json.size()) != sizes.front()) {
    fail(where, "a list of " + std::to_string(sizes.front()) + " (" + dims.front() + ")",
         describe(json));
  }
  for (std::size_t i = 0; i < json.size(); ++i) {
    // Builds the path of a cell only if reading may fail.
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
  const std::vector<std::string> names = value_at<std::vector<std::string>>(place["dims"]);
  for (const std::string& name : names) {
    const Dimension* dim = results.coord(name);
    if (dim == nullptr) fail(place.where + ": dims", "names of coords", in_quotes(name));
    if (std::ranges::find(dims, name, &Dimension::name) != dims.end()) {
      fail(place.where + ": dims", "each name once", in_quotes(name) + " twice");
    }
    dims.push_back(*dim);
    sizes.push_back(dim->size());
  }
  const std::string unit = value_at<std::string>(place["unit"]);
  // The sizes come from the file and may be wrong, so memory grows with the values actually read.
  const auto read_cells = [&](const char* key, auto& out) {
    const Place values = place[key];
    out.clear();
    flatten(values.json, values.where, names, sizes, out);
  };
  std::vector<double> values;
  read_cells("values", values);
  LabelledArray metric(std::move(dims), unit);
  metric.values = std::move(values);
  for (const auto& [name, numbers, number] : kEstimateParts) {
    if (place.has(name)) read_cells(name, metric.*numbers);
  }
  if (place.has("rows")) read_cells("rows", metric.rows);
  const Reader meaning{place};
  meaning.optional("none", metric.none);
  meaning.optional("identifier", metric.identifier);
  meaning.optional("change_of", metric.change_of);
  return metric;
}

ChangeList changes_at(const Place& counts, const Place& changes) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  auto list = value_at<ChangeList>(counts);
  const std::size_t size = list_size(changes);
  for (std::size_t i = 0; i < size; ++i) {
    const Place place = changes.at(i);
    auto change = value_at<Change>(place);
    // Infinite values are written as null.
    if (change.standard_error == 0) change.errors = kInfinite;
    const bool given = place.has("degrees_of_freedom") && !std::isnan(change.standard_error);
    if (given && std::isnan(change.degrees_of_freedom)) change.degrees_of_freedom = kInfinite;
    (std::isnan(change.standard_error) ? list.unmeasured : list.measured)
        .push_back(std::move(change));
  }
  return list;
}

// Reads the entries that are valid.
void read(const Place& place, std::vector<FoundSink>& sinks) {
  const std::size_t size = list_size(place);
  for (std::size_t i = 0; i < size; ++i) {
    FoundSink sink;
    try {
      read(place.at(i), sink);
    } catch (const BadInputError&) {
      continue;
    }
    const bool in_text =
        sink.position >= 0 && sink.position <= std::numeric_limits<int>::max() && sink.heads > 0;
    const bool in_model = sink.first_layer >= 0 && sink.last_layer >= sink.first_layer;
    if (in_text && in_model) sinks.push_back(sink);
  }
}

// Reads the fields of a record that are there and valid.
struct RecordReader {
  const Place& place;
  template <class T>
  void optional(const char* key, T& value) const {
    if (!place.has(key) || place[key].json.is_null()) return;
    try {
      read(place[key], value);
    } catch (const BadInputError&) {
      value = T{};
    }
  }
};

template <class Record>
Record record_of(const Json& json) {
  Record record;
  const Place place{json, ""};
  RecordReader io{place};
  fields(io, record);
  const Json held = to_json(record);
  for (const auto& [key, value] : json.items()) {
    if (!held.contains(key) || held[key] != value) record.others[key] = value;
  }
  return record;
}

Json object_at(const Place& root, const char* key) {
  if (!root.has(key)) return Json::object();
  const Place place = root[key];
  if (!place.json.is_object()) fail(place.where, "an object", describe(place.json));
  return place.json;
}

// Returns the command that makes the results of an older file again, as far as the file says.
std::string command_again(const Place& root) {
  Results old;
  old.settings = object_at(root, "settings");
  old.model = record_of<ModelRecord>(object_at(root, "model"));
  std::string command = "COMMAND";
  if (root.has("command")) read(root["command"], command);
  constexpr std::string_view kOptions = " --out DIR, with the options of its settings";
  if (command == command_text(Command::diff) || command == command_text(Command::series)) {
    return fmt::format("headgauge {} FILE... --out DIR, of results that are made again", command);
  }
  if (old.settings.contains("tokens") && old.model.family == "synthetic") {
    const std::string law = value_or<std::string>(old.settings, "tokens", "LAW");
    return fmt::format("headgauge {} --synthetic {}{}", command, law, kOptions);
  }
  std::string words = fmt::format("headgauge {} MODEL TEXT", command);
  if (command == command_text(Command::compare)) words += " CHANGE";
  if (command == command_text(Command::plan)) words += " --confirm FILE";
  return with_commands(old, words + std::string(kOptions));
}

void check_schema(const Place& root) {
  const std::string schema = value_at<std::string>(root["schema"]);
  const Place place = root["schema"];
  const std::string expected = "\"" + std::string(kResultsSchema) + "\"";
  if (schema.rfind(kResultsFormat, 0) != 0) fail(place.where, expected, describe(place.json));
  int major = 0;
  const char* first = schema.data() + kResultsFormat.size();
  const char* last = schema.data() + schema.size();
  const auto [end, error] = std::from_chars(first, last, major);
  if (error != std::errc{} || (end != last && *end != '.') || major < 1) {
    fail(place.where, expected, describe(place.json));
  }
  if (major < kResultsMajor) {
    throw UnsupportedError(fault(place.where, expected, describe(place.json),
                                 "make the results again: " + command_again(root)));
  }
  if (major > kResultsMajor) {
    throw UnsupportedError(
        fault(place.where, expected, describe(place.json), "read it with a newer headgauge"));
  }
}

}  // namespace

ModelRecord model_from_json(const nlohmann::ordered_json& json) {
  return record_of<ModelRecord>(json);
}

TextRecord text_from_json(const nlohmann::ordered_json& json) {
  return record_of<TextRecord>(json);
}

Results results_from_json(const nlohmann::ordered_json& json, const std::string& where) {
  const Place root{json, where};
  check_schema(root);
  Results results;
  results.tool = record_of<ToolRecord>(object_at(root, "tool"));
  results.model = model_from_json(object_at(root, "model"));
  results.text = text_from_json(object_at(root, "text"));
  results.settings = object_at(root, "settings");
  results.timings = record_of<Timings>(object_at(root, "timings"));
  const Reader io{root};
  io.optional("request", results.request);
  io.optional("partial", results.partial);
  io.optional("layers_done", results.layers_done);

  const Json coords = object_at(root, "coords");
  for (const auto& [name, values] : coords.items()) {
    results.set_coord(name, coordinate_at({values, where + ": coords: " + name}, name));
  }
  const Place metrics = root["metrics"];
  if (!metrics.json.is_object()) fail(metrics.where, "an object", describe(metrics.json));
  for (const auto& [name, metric] : metrics.json.items()) {
    results.metrics.emplace_back(name, metric_at({metric, metrics.where + ": " + name}, results));
  }
  io.optional("flags", results.flags);
  io.optional("summary", results.summary);
  io.optional("claims", results.claims);
  if (root.has("changes")) {
    results.changes = changes_at(root["change_counts"], root["changes"]);
  }
  io.optional("examples", results.examples);
  io.optional("token_losses", results.token_losses);
  io.optional("passages", results.passages);
  io.optional("notices", results.notices);
  io.optional("command", results.command);
  return results;
}

Results parse_results(std::string_view text, const std::string& where) {
  return results_from_json(
      parse_json_object<Json>(text, where,
                              "the file is damaged or not a results.json: write it again"),
      where);
}

Results read_results(const std::string& path) {
  const std::string text = read_file(path, kLargestResults);
  return path.ends_with(".jsonl") ? parse_monitor(text, path) : parse_results(text, path);
}

}  // namespace headgauge
