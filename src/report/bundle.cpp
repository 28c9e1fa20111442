#include "report/bundle.hpp"

#include "headgauge/base.hpp"
#include "headgauge/report.hpp"

#ifdef HEADGAUGE_PAGE
// The assembler embeds the files unchanged: as C++ arrays they would take minutes to compile.
asm(R"(
  .section .rodata
  .global headgauge_page_begin, headgauge_page_end, headgauge_figures_begin, headgauge_figures_end
  .hidden headgauge_page_begin, headgauge_page_end, headgauge_figures_begin, headgauge_figures_end
headgauge_page_begin:
  .incbin ")" HEADGAUGE_PAGE R"("
headgauge_page_end:
headgauge_figures_begin:
  .incbin ")" HEADGAUGE_FIGURES R"("
headgauge_figures_end:
  .byte 0
  .previous
)");
extern "C" const char headgauge_page_begin[], headgauge_page_end[], headgauge_figures_begin[],
    headgauge_figures_end[];
#endif

namespace headgauge {
namespace report {

std::string_view page_template() {
#ifdef HEADGAUGE_PAGE
  return {headgauge_page_begin, headgauge_page_end};
#else
  return {};
#endif
}

std::string_view figures_script() {
#ifdef HEADGAUGE_PAGE
  return {headgauge_figures_begin, headgauge_figures_end};
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
