// The derivative of every activation function against differences of its values.
#include "model/activation.hpp"

#include <gtest/gtest.h>

namespace headgauge {
namespace {

class EveryActivation : public ::testing::TestWithParam<const char*> {};

TEST_P(EveryActivation, HasTheSlopeOfItsValues) {
  constexpr float kStep = 1e-2f;
  const Activation activation = find_activation(GetParam(), "activation");
  // No point lies within a step of 0, where relu has a kink.
  for (float x = -4.0f; x < 4; x += 0.13f) {
    std::vector<float> around = {x - kStep, x + kStep};
    activation(around);
    const std::vector<float> at = {x};
    std::vector<float> gradient = {2.0f};
    activation.reverse(at, gradient);
    EXPECT_NEAR(gradient[0] / 2, (around[1] - around[0]) / (2 * kStep), 3e-4) << x;
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryActivation,
                         ::testing::Values("gelu_new", "gelu", "quick_gelu", "silu", "relu",
                                           "relu2", "tanh", "sigmoid", "linear"));

}  // namespace
}  // namespace headgauge
