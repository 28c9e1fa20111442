#include "results/text.hpp"

namespace headgauge {

std::string legible(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return text;
}

}  // namespace headgauge
