// The options of scan().
#include "headgauge/options.hpp"

#include <fmt/format.h>

#include "headgauge/scan.hpp"

namespace headgauge {

std::vector<Option> options_of(ScanOptions& o) {
  MeasureOptions& m = o.measure;
  std::vector<Option> options =
      declared_options({{"ScanOptions::x", choice(o.x, {"embedding", "hidden", "value"})},
                        {"ScanOptions::lengths", &o.lengths},
                        {"ScanOptions::layers", &o.layers},
                        {"ScanOptions::heads", &o.heads},
                        {"MeasureOptions::top_n", &m.top_n},
                        {"MeasureOptions::beyond_sinks", &m.beyond_sinks},
                        {"MeasureOptions::top_share", &m.top_share},
                        {"ScanOptions::measures", &o.measures},
                        {"ScanOptions::queries", &o.queries},
                        {"ScanOptions::examples", &o.examples},
                        {"ScanOptions::normalizer", &o.normalizer},
                        {"ScanOptions::pattern", &o.pattern},
                        {"MeasureOptions::temperatures", &m.temperatures},
                        {"MeasureOptions::epsilons", &m.epsilons},
                        {"MeasureOptions::critical_max", &m.critical_max},
                        {"MeasureOptions::critical_level", &m.critical_level},
                        {"MeasureOptions::unit_sphere", &m.unit_sphere},
                        {"ScanOptions::threads", &o.threads},
                        {"ScanOptions::seed", &o.seed}});
  std::string& help = find_option(options, "examples").help;
  help = fmt::format(fmt::runtime(help), kUsualExamples, kDocumentsWithExamples);
  return options;
}

}  // namespace headgauge
