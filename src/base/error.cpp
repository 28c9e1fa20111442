#include <string>

#include "headgauge/base.hpp"
#include "headgauge/text.hpp"

namespace headgauge {

Error::Error(ErrorKind kind, std::string_view message)
    : std::runtime_error(legible(message)), kind_(kind) {}

std::string fault(std::string_view where, std::string_view expected, std::string_view found,
                  std::string_view advice) {
  std::string line;
  line.append(where).append(": expected ").append(expected).append(", found ").append(found);
  if (!advice.empty()) line.append("; ").append(advice);
  return line;
}

}  // namespace headgauge
