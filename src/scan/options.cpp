// The options of scan().
#include "headgauge/options.hpp"

#include <fmt/format.h>

#include "headgauge/scan.hpp"

namespace headgauge {

std::vector<Option> options_of(ScanOptions& o) {
  std::vector<Option> all = declared_options(
      "ScanOptions", {{"x", choice(o.x, {"embedding", "hidden", "value"})},
                      {"lengths", &o.lengths},
                      {"layers", &o.layers},
                      {"heads", &o.heads},
                      {"MeasureOptions::top_n", &o.measure.top_n},
                      {"MeasureOptions::beyond_sinks", &o.measure.beyond_sinks},
                      {"MeasureOptions::top_share", &o.measure.top_share},
                      {"measures", &o.measures},
                      {"queries", &o.queries},
                      {"examples", &o.examples},
                      {"normalizer", &o.normalizer},
                      {"pattern", &o.pattern},
                      {"MeasureOptions::temperatures", &o.measure.temperatures},
                      {"MeasureOptions::epsilons", &o.measure.epsilons},
                      {"MeasureOptions::critical_max", &o.measure.critical_max},
                      {"MeasureOptions::critical_level", &o.measure.critical_level},
                      {"MeasureOptions::unit_sphere", &o.measure.unit_sphere},
                      {"threads", &o.threads},
                      {"seed", &o.seed}});
  std::string& help = find_option(all, "examples").help;
  help = fmt::format(fmt::runtime(help), kUsualExamples, kDocumentsWithExamples);
  return all;
}

}  // namespace headgauge
