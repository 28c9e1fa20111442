#include "headgauge/catalogue.hpp"
#include "scan/converge_output.hpp"

namespace headgauge {

MetricArray& add_declared(Results& results, std::string_view name) {
  const MetricInfo& info = metric_info(name);
  return results.add_metric(info.name, info.all_dims(), info.unit);
}

}  // namespace headgauge
