#include "scan/catalogue.hpp"

#include <string>

#include "headgauge/converge.hpp"
#include "headgauge/measure.hpp"

namespace headgauge {
namespace {

// The dims a user will find in results.json.
std::string dims_text(const MetricInfo& metric) {
  std::string text;
  if (metric.kind == MetricKind::row_mean) text = "layer, head, length";
  if (metric.kind == MetricKind::row_longest) text = "layer, head";
  for (const std::string& dim : metric.dims) text += (text.empty() ? "" : ", ") + dim;
  return text;
}

void add(const std::vector<MetricInfo>& metrics, const char* command,
         nlohmann::ordered_json& list) {
  for (const MetricInfo& metric : metrics) {
    list.push_back({{"name", metric.name},
                    {"group", metric.group},
                    {"command", command},
                    {"dims", dims_text(metric)},
                    {"unit", metric.unit},
                    {"formula", metric.formula},
                    {"source", metric.source},
                    {"meaning", metric.meaning},
                    {"by_position", metric.by_position}});
  }
}

}  // namespace

nlohmann::ordered_json metrics_catalogue() {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  add(all_metrics(), "scan", list);
  add(convergence_metrics(), "converge", list);
  return list;
}

}  // namespace headgauge
