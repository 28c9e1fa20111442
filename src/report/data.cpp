#include "report/data.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "base/strict_json.hpp"
#include "headgauge/advice.hpp"
#include "headgauge/diff.hpp"
#include "headgauge/flags.hpp"
#include "results/header.hpp"

namespace headgauge::report {
namespace {

using Json = nlohmann::ordered_json;

Json numbers(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double value : values) list.push_back(std::isfinite(value) ? Json(value) : Json());
  return list;
}

// Returns every key of results.json except the metrics. Computes the list of changes if a diff or
// comparison lacks it.
Json complete_header(const Results& results) {
  Json header = header_to_json(results);
  const bool compared = results.command == Command::diff || results.command == Command::compare;
  if (!compared || results.changes) return header;
  const auto level = results.settings.find("level");
  const bool given = level != results.settings.end() && level->is_number();
  header.update(
      changes_to_json(given ? list_changes(results, level->get<double>()) : list_changes(results)));
  return header;
}

// Adds explanations of the flags, because a results file only has their names.
Json flag_words(const Results& results) {
  Json words = Json::object();
  for (const FlagInfo& info : flag_infos()) {
    words[info.name] = {{"meaning", info.meaning},
                        {"means", info.means},
                        {"next", with_commands(results, info.next)}};
  }
  return words;
}

}  // namespace

std::string overview_text(const Results& results) {
  Json metrics = Json::array();
  for (const auto& [name, metric] : results.metrics) {
    Json info{{"name", name}, {"element", element_name(metrics.size())}};
    info.update(attributes_to_json(metric));
    metrics.push_back(std::move(info));
  }
  return json_text(Json{{"header", complete_header(results)},
                        {"metrics", std::move(metrics)},
                        {"flag_words", flag_words(results)}});
}

std::string element_name(std::size_t k) {
  return fmt::format("metric-{}", k);
}

std::string numbers_text(const LabelledArray& metric) {
  Json json{{"values", numbers(metric.values)}};
  if (!metric.standard_error.empty()) json["stderr"] = numbers(metric.standard_error);
  if (!metric.rows.empty()) json["rows"] = metric.rows;
  return json_text(json);
}

PackedNumbers packed_numbers(const LabelledArray& metric) {
  // Pages assume little-endian byte order, which all browsers use.
  static_assert(std::endian::native == std::endian::little);
  PackedNumbers packed;
  const auto add = [&](const char* part, const auto& numbers) {
    if (numbers.empty()) return;
    packed.parts += packed.parts.empty() ? part : fmt::format(" {}", part);
    for (const auto number : numbers) {
      double value = static_cast<double>(number);
      if (!std::isfinite(value)) value = kUndefined;
      packed.bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
  };
  add("values", metric.values);
  add("stderr", metric.standard_error);
  add("rows", metric.rows);
  return packed;
}

std::string examples_text(const Results& results) {
  return json_text(examples_to_json(results));
}

}  // namespace headgauge::report
