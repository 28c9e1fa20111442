#include "plan/press_text.hpp"

// The assembler embeds the file unchanged.
asm(R"(
  .section .rodata
  .global headgauge_press_begin, headgauge_press_end
  .hidden headgauge_press_begin, headgauge_press_end
headgauge_press_begin:
  .incbin ")" HEADGAUGE_PRESS R"("
headgauge_press_end:
  .byte 0
  .previous
)");
extern "C" const char headgauge_press_begin[], headgauge_press_end[];

namespace headgauge {

std::string_view press_text() {
  return {headgauge_press_begin, headgauge_press_end};
}

}  // namespace headgauge
