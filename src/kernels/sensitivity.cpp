#include "kernels/sensitivity.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace headgauge {
namespace {

// out_i = softmax((l_i + step v_i) / T)
void softmax_at(std::span<const float> logits, std::span<const double> v, double step,
                double temperature, std::span<double> out) {
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = (logits[i] + step * v[i]) / temperature;
  const double top = *std::ranges::max_element(out);
  double sum = 0;
  for (double& x : out) {
    x = std::exp(x - top);
    sum += x;
  }
  for (double& x : out) x /= sum;
}

}  // namespace

void softmax_sensitivity(std::span<const float> logits, std::span<const double> v,
                         std::span<const double> temperatures, std::span<const double> epsilons,
                         SensitivityWorkspace& work, std::span<double> gains) {
  assert(gains.size() == temperatures.size() * epsilons.size() && v.size() == logits.size());
  work.base.resize(logits.size());
  work.moved.resize(logits.size());
  std::size_t at = 0;
  for (double temperature : temperatures) {
    softmax_at(logits, v, 0.0, temperature, work.base);
    for (double epsilon : epsilons) {
      softmax_at(logits, v, epsilon, temperature, work.moved);
      double square = 0;
      for (std::size_t i = 0; i < logits.size(); ++i) {
        const double change = work.moved[i] - work.base[i];
        square += change * change;
      }
      gains[at++] = std::sqrt(square) / epsilon;
    }
  }
}

}  // namespace headgauge
