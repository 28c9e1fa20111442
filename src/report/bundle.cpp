#include "report/bundle.hpp"

#include "base/embed.hpp"
#include "headgauge/base.hpp"
#include "headgauge/report.hpp"

#ifdef HEADGAUGE_PAGE
HEADGAUGE_EMBED(page, HEADGAUGE_PAGE);
HEADGAUGE_EMBED(figures, HEADGAUGE_FIGURES);
#endif

namespace headgauge {
namespace report {

std::string_view page_template() {
#ifdef HEADGAUGE_PAGE
  return HEADGAUGE_EMBEDDED(page);
#else
  return {};
#endif
}

std::string_view figures_script() {
#ifdef HEADGAUGE_PAGE
  return HEADGAUGE_EMBEDDED(figures);
#else
  return {};
#endif
}

void require_bundle() {
  if (has_report()) return;
  throw UnsupportedError(fault("report", "a build with the report page",
                               "one configured with -DHEADGAUGE_REPORT=OFF",
                               "configure without it: that takes Node.js and npm, or a release "
                               "tarball, which has the page built"));
}

}  // namespace report

bool has_report() {
  return !report::page_template().empty();
}

}  // namespace headgauge
