#include <string>

#include "headgauge/base.hpp"

namespace headgauge {

std::string fault(std::string_view where, std::string_view expected, std::string_view found,
                  std::string_view advice) {
  std::string line;
  line.append(where).append(": expected ").append(expected).append(", found ").append(found);
  if (!advice.empty()) line.append("; ").append(advice);
  return line;
}

}  // namespace headgauge
