#include "model/activation.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include "kernels/softmax.hpp"

namespace headgauge {
namespace {

// Computes x * sigmoid(u(x)) with sigmoid(u) = 1/(1 + e^-u), taking exp of a whole chunk at a time.
template <class Argument>
void gate(std::span<float> values, Argument argument) {
  constexpr std::size_t kChunk = 512;
  std::array<float, kChunk> power;
  for (std::size_t at = 0; at < values.size(); at += kChunk) {
    const auto chunk = values.subspan(at, std::min(kChunk, values.size() - at));
    for (std::size_t i = 0; i < chunk.size(); ++i) {
      power[i] = std::clamp(-argument(chunk[i]), -87.0f, 87.0f);
    }
    const std::span<float> powers(power.data(), chunk.size());
    exp_shifted(powers, 0.0f, powers);
    for (std::size_t i = 0; i < chunk.size(); ++i) chunk[i] /= 1.0f + power[i];
  }
}

// 0.5 x (1 + tanh(u)) equals x sigmoid(2u).
void gelu_tanh(std::span<float> values) {
  constexpr float kScale =
      static_cast<float>(2.0 * std::numbers::sqrt2 * std::numbers::inv_sqrtpi);  // 2 sqrt(2/pi)
  gate(values, [](float x) { return kScale * (x + 0.044715f * x * x * x); });
}
void gelu_erf(std::span<float> values) {
  for (float& x : values) {
    x *= 0.5f * std::erfc(-x * static_cast<float>(1.0 / std::numbers::sqrt2));
  }
}
void quick_gelu(std::span<float> values) {
  gate(values, [](float x) { return 1.702f * x; });
}
void silu(std::span<float> values) {
  gate(values, [](float x) { return x; });
}
void relu(std::span<float> values) {
  for (float& x : values) x = std::max(x, 0.0f);
}
void relu_squared(std::span<float> values) {
  for (float& x : values) x = x > 0 ? x * x : 0.0f;
}
void hyperbolic_tangent(std::span<float> values) {
  for (float& x : values) x = std::tanh(x);
}
void sigmoid(std::span<float> values) {
  for (float& x : values) x = 1.0f / (1.0f + std::exp(-x));
}
void identity(std::span<float>) {}

constexpr std::array<std::pair<const char*, Activation>, 13> kActivations{{
    {"gelu_new", gelu_tanh},
    {"gelu_pytorch_tanh", gelu_tanh},
    {"gelu_fast", gelu_tanh},
    {"gelu_accurate", gelu_tanh},
    {"gelu", gelu_erf},
    {"quick_gelu", quick_gelu},
    {"silu", silu},
    {"swish", silu},
    {"relu", relu},
    {"relu2", relu_squared},
    {"tanh", hyperbolic_tangent},
    {"sigmoid", sigmoid},
    {"linear", identity},
}};

}  // namespace

Activation find_activation(const std::string& name, const std::string& where) {
  std::string known;
  for (const auto& [known_name, function] : kActivations) {
    if (name == known_name) return function;
    known += (known.empty() ? "" : ", ") + std::string(known_name);
  }
  throw UnsupportedError(fault(where, "one of " + known, "\"" + name + "\"",
                               "headgauge cannot run this activation function"));
}

}  // namespace headgauge
