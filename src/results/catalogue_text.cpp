#include "results/catalogue_text.hpp"

// The assembler embeds the file unchanged.
asm(R"(
  .section .rodata
  .global headgauge_catalogue_begin, headgauge_catalogue_end
  .hidden headgauge_catalogue_begin, headgauge_catalogue_end
headgauge_catalogue_begin:
  .incbin ")" HEADGAUGE_CATALOGUE R"("
headgauge_catalogue_end:
  .byte 0
  .previous
)");
extern "C" const char headgauge_catalogue_begin[], headgauge_catalogue_end[];

namespace headgauge {

std::string_view catalogue_text() {
  return {headgauge_catalogue_begin, headgauge_catalogue_end};
}

}  // namespace headgauge
