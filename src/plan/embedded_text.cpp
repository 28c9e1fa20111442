#include "plan/embedded_text.hpp"

#include "base/embed.hpp"

HEADGAUGE_EMBED(press, HEADGAUGE_PRESS);
HEADGAUGE_EMBED(modeling, HEADGAUGE_MODELING);

namespace headgauge {

std::string_view press_text() {
  return HEADGAUGE_EMBEDDED(press);
}

std::string_view modeling_text() {
  return HEADGAUGE_EMBEDDED(modeling);
}

}  // namespace headgauge
