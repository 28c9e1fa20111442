#include "results/catalogue_text.hpp"

#include "base/embed.hpp"

HEADGAUGE_EMBED(catalogue, HEADGAUGE_CATALOGUE);

namespace headgauge {

std::string_view catalogue_text() {
  return HEADGAUGE_EMBEDDED(catalogue);
}

}  // namespace headgauge
