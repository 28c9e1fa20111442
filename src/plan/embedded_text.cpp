#include "plan/embedded_text.hpp"

// The assembler embeds the files unchanged.
asm(R"(
  .section .rodata
  .global headgauge_press_begin, headgauge_press_end
  .hidden headgauge_press_begin, headgauge_press_end
headgauge_press_begin:
  .incbin ")" HEADGAUGE_PRESS R"("
headgauge_press_end:
  .byte 0
  .global headgauge_modeling_begin, headgauge_modeling_end
  .hidden headgauge_modeling_begin, headgauge_modeling_end
headgauge_modeling_begin:
  .incbin ")" HEADGAUGE_MODELING R"("
headgauge_modeling_end:
  .byte 0
  .previous
)");
extern "C" const char headgauge_press_begin[], headgauge_press_end[];
extern "C" const char headgauge_modeling_begin[], headgauge_modeling_end[];

namespace headgauge {

std::string_view press_text() {
  return {headgauge_press_begin, headgauge_press_end};
}

std::string_view modeling_text() {
  return {headgauge_modeling_begin, headgauge_modeling_end};
}

}  // namespace headgauge
