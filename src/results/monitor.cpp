// Reads the records of a training monitor as results over steps.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/strict_json.hpp"
#include "headgauge/catalogue.hpp"
#include "headgauge/results.hpp"
#include "headgauge/text.hpp"
#include "results/sentences.hpp"

namespace headgauge {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kMonitorSchema = "headgauge.monitor/2";
constexpr const char* kMonitorAdvice = "give the file that headgauge.Monitor wrote";
constexpr std::int64_t kLastStep = std::int64_t{1} << 53;

struct Record {
  std::map<std::string, Matrix<double>> metrics;  // layer x head
  std::vector<std::string> warnings;
};

class MonitorReader {
 public:
  explicit MonitorReader(const std::string& where) : where_(where) {}

  void read(std::string_view text) {
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      ++line_;
      read_line(text.substr(begin, end - begin), end == text.size());
      begin = end + 1;
    }
    if (records_.empty()) fail(where_, "at least one record", "none");
    // If the records have the same metrics, every cell takes at least two bytes.
    const double cells = static_cast<double>(layers_) * static_cast<double>(heads_) *
                         static_cast<double>(records_.size()) * static_cast<double>(names_.size());
    if (cells > static_cast<double>(text.size())) {
      fail(where_, "records of the same metrics", fmt::format("{} metrics", names_.size()));
    }
  }

  Results results() const {
    Results results;
    results.command = Command::monitor;
    results.tool = {.name = "headgauge", .version = HEADGAUGE_VERSION};
    results.model = {.name = model_, .family = family_, .layers = layers_, .heads = heads_};
    results.set_coord("layer", counted(layers_));
    results.set_coord("head", counted(heads_));
    std::vector<double> steps;
    for (const auto& [step, record] : records_) steps.push_back(static_cast<double>(step));
    results.set_coord("step", std::move(steps));
    for (const std::string& name : names_) add_metric(results, name);
    summarize(results);
    results.notices.push_back(
        "Each record measures one text of the batch at that step, so steps also differ by their "
        "texts");
    if (torn_) {
      results.notices.push_back(
          "The last line is incomplete and was left out: the file was cut off");
    }
    return results;
  }

 private:
  [[noreturn]] static void fail(const std::string& where, const std::string& expected,
                                const std::string& found) {
    throw BadInputError(fault(where, expected, found, kMonitorAdvice));
  }

  std::string place() const { return fmt::format("{}: line {}", where_, line_); }

  void read_line(std::string_view line, bool last) {
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) return;
    Json json;
    try {
      json = parse_json_object<Json>(line, place(), kMonitorAdvice);
    } catch (const BadInputError&) {
      torn_ = last && !records_.empty();  // the process ended while writing it
      if (!torn_) throw;
      return;
    }
    const auto schema = json.find("schema");
    if (schema == json.end() || *schema != kMonitorSchema) {
      fail(place(), fmt::format("a record of schema {}", kMonitorSchema),
           schema == json.end() ? "none" : describe(*schema));
    }
    const auto step = json.find("step");
    if (step == json.end() || !step->is_number_integer() || step->get<std::int64_t>() < 0 ||
        step->get<std::int64_t>() > kLastStep) {
      fail(place() + ": step", "a whole number", step == json.end() ? "none" : describe(*step));
    }
    for (auto [key, text] : {std::pair{"model", &model_}, std::pair{"family", &family_}}) {
      if (json.contains(key) && json[key].is_string()) *text = json[key].get<std::string>();
    }
    Record record;
    read_metrics(json, record);
    read_warnings(json, record);
    // A training resumed from a checkpoint measures some steps again; the last record is used.
    records_.insert_or_assign(step->get<std::int64_t>(), std::move(record));
  }

  void read_metrics(const Json& json, Record& record) {
    const auto metrics = json.find("metrics");
    if (metrics == json.end() || !metrics->is_object()) {
      fail(place() + ": metrics", "an object", metrics == json.end() ? "none" : describe(*metrics));
    }
    if (metrics->empty()) fail(place() + ": metrics", "metrics", "none");
    for (const auto& [name, rows] : metrics->items()) {
      record.metrics.insert_or_assign(
          name, values_of(rows, fmt::format("{}: metrics: {}", place(), legible(name))));
      if (std::ranges::find(names_, name) == names_.end()) names_.push_back(name);
    }
  }

  // Checks all sizes before allocating memory, so that there are as many numbers as in the file.
  Matrix<double> values_of(const Json& rows, const std::string& at) {
    if (!rows.is_array() || rows.empty()) fail(at, "a list for each layer", describe(rows));
    if (layers_ == 0) {
      layers_ = std::ssize(rows);
      heads_ = rows[0].is_array() ? std::ssize(rows[0]) : 0;
    }
    if (std::ssize(rows) != layers_ || heads_ == 0) {
      fail(at, fmt::format("{} layers as in the first record", layers_), describe(rows));
    }
    for (const Json& row : rows) {
      if (!row.is_array() || std::ssize(row) != heads_) {
        fail(at, fmt::format("{} heads as in the first record", heads_), describe(row));
      }
    }
    Matrix<double> values(layers_, heads_);
    for (Index layer = 0; layer < layers_; ++layer) {
      const Json& row = rows[static_cast<std::size_t>(layer)];
      for (Index head = 0; head < heads_; ++head) {
        const Json& value = row[static_cast<std::size_t>(head)];
        if (!value.is_number() && !value.is_null()) fail(at, "numbers", describe(value));
        values(layer, head) = value.is_null() ? kUndefined : value.get<double>();
      }
    }
    return values;
  }

  void read_warnings(const Json& json, Record& record) const {
    const auto warnings = json.find("warnings");
    if (warnings == json.end()) return;
    if (!warnings->is_array()) fail(place() + ": warnings", "a list", describe(*warnings));
    for (const Json& text : *warnings) {
      if (!text.is_string()) fail(place() + ": warnings", "sentences", describe(text));
      record.warnings.push_back(text.get<std::string>());
    }
  }

  static std::vector<double> counted(Index count) {
    std::vector<double> labels(static_cast<std::size_t>(count));
    for (Index i = 0; i < count; ++i) labels[static_cast<std::size_t>(i)] = static_cast<double>(i);
    return labels;
  }

  void add_metric(Results& results, const std::string& name) const {
    const MetricInfo* info = find_metric_info(name);
    LabelledArray& metric =
        results.add_metric(name, {"layer", "head", "step"}, info != nullptr ? info->unit : "1");
    Index step = 0;
    for (const auto& [number, record] : records_) {
      const auto found = record.metrics.find(name);
      for (Index layer = 0; found != record.metrics.end() && layer < layers_; ++layer) {
        for (Index head = 0; head < heads_; ++head) {
          metric({layer, head, step}) = found->second(layer, head);
        }
      }
      ++step;
    }
  }

  // Returns the head that a warning names ("in head 3.5:"), if the model has it.
  std::vector<std::string> heads_in(const std::string& text) const {
    constexpr std::string_view kBefore = " head ";
    const std::size_t at = text.find(kBefore);
    if (at == std::string::npos) return {};
    const std::size_t begin = at + kBefore.size();
    const std::string name =
        text.substr(begin, text.find_first_not_of("0123456789.", begin) - begin);
    const std::size_t dot = name.find('.');
    const auto within = [](const std::string& digits, Index count) {
      return !digits.empty() && digits.size() < 9 && std::stoll(digits) < count;
    };
    if (dot == std::string::npos || name.find('.', dot + 1) != std::string::npos ||
        !within(name.substr(0, dot), layers_) || !within(name.substr(dot + 1), heads_)) {
      return {};
    }
    return {name};
  }

  void summarize(Results& results) const {
    Scope scope;
    scope.count("records", records_.size())
        .count("layer_count", layers_)
        .count("head_count", heads_)
        .count("first_step", records_.begin()->first)
        .count("last_step", records_.rbegin()->first);
    add_sentences("monitor", results, scope, results.summary);
    const std::size_t before = results.summary.size();
    for (const auto& [step, record] : records_) {
      for (const std::string& text : record.warnings) {
        results.summary.push_back({text, {}, heads_in(text)});
      }
    }
    scope.give_if("is_calm", results.summary.size() == before);
    add_sentences("monitored", results, scope, results.summary);
  }

  const std::string& where_;
  std::map<std::int64_t, Record> records_;  // by step
  std::vector<std::string> names_;
  std::string model_ = "a model";
  std::string family_ = "unknown";
  Index layers_ = 0, heads_ = 0;
  int line_ = 0;
  bool torn_ = false;
};

}  // namespace

Results parse_monitor(std::string_view text, const std::string& where) {
  MonitorReader reader(where);
  reader.read(text);
  return reader.results();
}

}  // namespace headgauge
