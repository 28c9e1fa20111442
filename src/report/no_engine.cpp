// Replaces engine.cpp in a build without HEADGAUGE_REPORT.
#include "report/bundle.hpp"
#include "report/engine.hpp"

namespace headgauge::report {

std::string run_figures(std::string_view, std::string_view,
                        const std::function<std::string(std::string_view)>&) {
  require_bundle();
  return {};
}

}  // namespace headgauge::report
