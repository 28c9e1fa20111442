#include "results/catalogue_text.hpp"

#include "base/embed.hpp"

HEADGAUGE_EMBED(catalogue, HEADGAUGE_CATALOGUE);
HEADGAUGE_EMBED(options, HEADGAUGE_OPTIONS);

namespace headgauge {

std::string_view catalogue_text() {
  return HEADGAUGE_EMBEDDED(catalogue);
}

std::string_view declared_options_text() {
  return HEADGAUGE_EMBEDDED(options);
}

}  // namespace headgauge
