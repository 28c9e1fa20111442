// Writes results.json. Converts metrics to JSON one at a time, so that a model with a thousand
// heads never needs the whole document in memory as a tree.
#include <algorithm>
#include <cmath>
#include <string>

#include "base/file.hpp"
#include "base/strict_json.hpp"
#include "headgauge/results.hpp"
#include "results/header.hpp"
#include "results/json_fields.hpp"

namespace headgauge {
namespace {

using Json = nlohmann::ordered_json;

// Writes a whole number without a fraction, which is easier to read for lengths and counts.
Json label(double value) {
  if (std::abs(value) < 0x1p53 && value == std::floor(value)) {
    return static_cast<std::int64_t>(value);
  }
  return value;
}

Json cell(double value) {
  return json_number(value);
}
// Degrees of freedom, which are usually whole numbers.
struct Freedom {
  double value;
};
Json cell(Freedom freedom) {
  return std::isfinite(freedom.value) ? label(freedom.value) : Json(nullptr);
}
Json cell(std::int64_t value) {
  return value;
}

// Nests values in the order of dims; `next` is the index into the flat values.
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

bool is_known(const std::vector<double>& numbers) {
  return std::ranges::any_of(numbers, [](double number) { return !std::isnan(number); });
}

Json metric_to_json(const LabelledArray& metric) {
  Json json = attributes_to_json(metric);
  json["values"] = nest(metric, metric.values);
  for (const auto& [name, part, number] : kEstimateParts) {
    const std::vector<double>& numbers = metric.*part;
    if (part != &LabelledArray::degrees_of_freedom) {
      if (!numbers.empty()) json[name] = nest(metric, numbers);
    } else if (is_known(numbers)) {
      json[name] = nest(metric, std::vector<Freedom>(numbers.begin(), numbers.end()));
    }
  }
  if (!metric.rows.empty()) json["rows"] = nest(metric, metric.rows);
  return json;
}

Json coordinate_to_json(const Coordinate& values) {
  if (const auto* names = std::get_if<std::vector<std::string>>(&values)) return *names;
  Json list = Json::array();
  for (const double value : std::get<std::vector<double>>(values)) list.push_back(label(value));
  return list;
}

// Writes the fields of an entry.
class Writer {
 public:
  template <class T>
  static Json entry(T value) {
    Writer writer;
    fields(writer, value);
    return std::move(writer.json_);
  }
  template <class T>
  void operator()(const char* key, const T& value) {
    json_[key] = to_json(value);
  }
  template <class T>
  void optional(const char* key, const T& value) {
    if (!value.empty()) (*this)(key, value);
  }
  void optional(const char* key, double value) {
    if (!std::isnan(value)) (*this)(key, value);
  }
  void optional(const char* key, bool value) {
    if (value) (*this)(key, value);
  }
  template <class T>
  void optional(const char* key, const std::optional<T>& value) {
    if (value) (*this)(key, *value);
  }

 private:
  static Json to_json(const std::string& text) { return text; }
  static Json to_json(bool value) { return value; }
  static Json to_json(int number) { return number; }
  static Json to_json(std::int64_t number) { return number; }
  static Json to_json(double number) { return cell(number); }
  static Json to_json(Verdict verdict) { return verdict_text(verdict); }
  static Json to_json(FactSource::Kind kind) { return kind_text(kind); }
  static Json to_json(const std::vector<std::string>& texts) { return texts; }
  static Json to_json(const std::vector<Index>& cell) { return cell; }
  static Json to_json(const std::vector<double>& numbers) {
    Json list = Json::array();
    for (const double number : numbers) list.push_back(cell(number));
    return list;
  }
  static Json to_json(const std::vector<std::pair<std::string, std::string>>& labels) {
    Json object = Json::object();
    for (const auto& [dim, label] : labels) object[dim] = label;
    return object;
  }
  template <class T>
  static Json to_json(const std::vector<std::optional<T>>& list) {
    Json items = Json::array();
    for (const auto& item : list) items.push_back(item ? to_json(*item) : Json(nullptr));
    return items;
  }
  template <class T>
  static Json to_json(const std::vector<T>& list) {
    Json items = Json::array();
    for (const T& item : list) items.push_back(entry(item));
    return items;
  }

  Json json_ = Json::object();
};

template <class Record>
Json record_to_json(const Record& record) {
  Json json = Writer::entry(record);
  json.update(record.others);
  return json;
}

template <class T>
Json list_to_json(std::span<const T> list) {
  Json items = Json::array();
  for (const T& item : list) items.push_back(Writer::entry(item));
  return items;
}

// Return everything except the metrics, which are written between the head and the tail.
Json head_to_json(const Results& results) {
  Json json;
  json["schema"] = kResultsSchema;
  if (results.command != Command::unknown) json["command"] = command_text(results.command);
  if (!results.request.empty()) json["request"] = results.request;
  json["partial"] = results.partial;
  json["tool"] = record_to_json(results.tool);
  json["model"] = record_to_json(results.model);
  json["text"] = record_to_json(results.text);
  json["settings"] = results.settings;
  json["layers_done"] = results.layers_done;
  json["coords"] = Json::object();
  for (const Dimension& dim : results.coords) {
    json["coords"][dim.name()] = coordinate_to_json(dim.labels());
  }
  return json;
}

// Returns change_counts and changes: those that stand out most, those with standard errors first.
Json changes_to_json(const ChangeList& list) {
  Json changes = Json::array();
  for (const auto* part : {&list.measured, &list.unmeasured}) {
    const auto some = std::span(*part).first(std::min(part->size(), kMostChanges));
    for (const Change& change : some) changes.push_back(Writer::entry(change));
  }
  return {{"change_counts", Writer::entry(list)}, {"changes", std::move(changes)}};
}

Json tail_without_examples(const Results& results) {
  Json json;
  json["flags"] = list_to_json<Flag>(results.flags);
  json["summary"] = list_to_json<SummaryLine>(results.summary);
  if (!results.claims.empty()) json["claims"] = list_to_json<Claim>(results.claims);
  if (results.changes) json.update(changes_to_json(*results.changes));
  json["notices"] = results.notices;
  json["timings"] = record_to_json(results.timings);
  return json;
}

Json tail_to_json(const Results& results) {
  Json json = tail_without_examples(results);
  if (has_examples(results)) json.update(examples_to_json(results));
  return json;
}

// Writes one line per entry, and one line per object in a list of objects.
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

// Passes the document to `put` in pieces, none larger than a metric.
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

nlohmann::ordered_json to_json(const ToolRecord& tool) {
  return record_to_json(tool);
}
nlohmann::ordered_json to_json(const ModelRecord& model) {
  return record_to_json(model);
}
nlohmann::ordered_json to_json(const TextRecord& text) {
  return record_to_json(text);
}
nlohmann::ordered_json to_json(const Timings& timings) {
  return record_to_json(timings);
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
  json.update(tail_without_examples(results));
  return json;
}

bool has_examples(const Results& results) {
  return !results.examples.empty() || !results.token_losses.empty();
}

nlohmann::ordered_json examples_to_json(const Results& results) {
  Json json;
  if (!results.examples.empty()) json["examples"] = list_to_json<Example>(results.examples);
  if (!results.token_losses.empty()) {
    json["token_losses"] = list_to_json<TokenLoss>(results.token_losses);
  }
  json["passages"] = list_to_json<Passage>(results.passages);
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

void put_results(const Results& results, AtomicFile& file) {
  write_text(results, [&](std::string_view piece) { file.write(piece); });
}

void write_results(const Results& results, const std::string& path) {
  write_atomically(path, [&](AtomicFile& file) { put_results(results, file); });
}

}  // namespace headgauge
