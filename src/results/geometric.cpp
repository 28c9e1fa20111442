#include <cmath>

#include "headgauge/options.hpp"

namespace headgauge {

std::vector<double> geometric(double first, double last, int count) {
  std::vector<double> values;
  for (int i = 0; i < count; ++i) {
    values.push_back(i + 1 == count && count > 1
                         ? last
                         : first * std::pow(last / first, count > 1 ? i / (count - 1.0) : 0));
  }
  return values;
}

}  // namespace headgauge
