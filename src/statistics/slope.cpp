#include "statistics/slope.hpp"

#include "statistics/inference.hpp"

namespace headgauge {

double least_squares_slope(std::span<const double> x, std::span<const double> y) {
  check_pairs(x, y);
  const auto count = static_cast<double>(x.size());
  double mean_x = 0, mean_y = 0, xx = 0, xy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    mean_x += x[i] / count;
    mean_y += y[i] / count;
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    xy += (x[i] - mean_x) * (y[i] - mean_y);
  }
  return xx > 0 ? xy / xx : kUndefined;
}

}  // namespace headgauge
