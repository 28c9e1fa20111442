// Embeds a file in the program unchanged: as a C++ array it would take minutes to compile.
#pragma once

#include <string_view>

// Outside of all namespaces: declares headgauge_NAME_begin and headgauge_NAME_end, around the bytes
// of a file. `path` is a string literal.
#define HEADGAUGE_EMBED(name, path)                         \
  asm(".pushsection .rodata\n"                              \
      ".global headgauge_" #name "_begin, headgauge_" #name \
      "_end\n"                                              \
      ".hidden headgauge_" #name "_begin, headgauge_" #name \
      "_end\n"                                              \
      "headgauge_" #name                                    \
      "_begin:\n"                                           \
      ".incbin \"" path                                     \
      "\"\n"                                                \
      "headgauge_" #name                                    \
      "_end:\n"                                             \
      ".byte 0\n"                                           \
      ".popsection\n");                                     \
  extern "C" const char headgauge_##name##_begin[], headgauge_##name##_end[]

// The bytes of an embedded file.
#define HEADGAUGE_EMBEDDED(name)                     \
  std::string_view {                                 \
    headgauge_##name##_begin, headgauge_##name##_end \
  }
