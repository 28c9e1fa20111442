#include "scan/catalogue.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "headgauge/catalogue.hpp"

namespace headgauge {

nlohmann::ordered_json metrics_catalogue() {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const MetricInfo& metric : all_metrics()) {
    if (metric.kind == MetricKind::hidden) continue;
    list.push_back({{"name", metric.name},
                    {"group", metric.group},
                    {"command", metric.command},
                    {"dims", fmt::format("{}", fmt::join(metric.all_dims(), ", "))},
                    {"unit", metric.unit},
                    {"formula", metric.formula},
                    {"source", metric.source},
                    {"meaning", metric.meaning},
                    {"by_position", metric.by_position}});
  }
  return list;
}

}  // namespace headgauge
