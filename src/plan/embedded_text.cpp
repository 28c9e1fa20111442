#include "plan/embedded_text.hpp"

#include "base/embed.hpp"

HEADGAUGE_EMBED(modeling, HEADGAUGE_MODELING);
HEADGAUGE_EMBED(held_heads, HEADGAUGE_HELD_HEADS);

namespace headgauge {

std::string modeling_text() {
  constexpr std::string_view kImport =
      "from headgauge._held_heads import HeldLayer, NewTokens, updated\n";
  std::string_view held = HEADGAUGE_EMBEDDED(held_heads);
  held = held.substr(held.find("import threading"));  // past its title
  std::string text(HEADGAUGE_EMBEDDED(modeling));
  return text.replace(text.find(kImport), kImport.size(), held);
}

}  // namespace headgauge
