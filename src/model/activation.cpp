#include "model/activation.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include "kernels/softmax.hpp"

namespace headgauge {
namespace {

// Replaces each value x by next(x, sigmoid(u)) for every u(x), a chunk of exponentials at a time.
template <class Argument, class Next>
void gate(std::span<const float> values, Argument argument, Next next) {
  constexpr std::size_t kChunk = 512;
  std::array<float, kChunk> power;
  for (std::size_t at = 0; at < values.size(); at += kChunk) {
    const auto chunk = values.subspan(at, std::min(kChunk, values.size() - at));
    for (std::size_t i = 0; i < chunk.size(); ++i) {
      power[i] = std::clamp(-argument(chunk[i]), -87.0f, 87.0f);
    }
    const std::span<float> powers(power.data(), chunk.size());
    exp_shifted(powers, 0.0f, powers);
    for (std::size_t i = 0; i < chunk.size(); ++i) next(at + i, chunk[i], 1.0f + power[i]);
  }
}

// x * sigmoid(u(x)), where Gate has u and its derivative.
template <class Gate>
constexpr Activation kGated = {
    [](std::span<float> values) {
      gate(values, Gate::u,
           [&](std::size_t i, float x, float divisor) { values[i] = x / divisor; });
    },
    [](std::span<const float> values, std::span<float> gradient) {
      gate(values, Gate::u, [&](std::size_t i, float x, float divisor) {
        const float open = 1.0f / divisor;
        gradient[i] *= open * (1.0f + x * (1.0f - open) * Gate::slope(x));
      });
    }};

// A function of one number, which has a value and a slope.
template <class Function>
constexpr Activation kPlain = {[](std::span<float> values) {
                                 for (float& x : values) x = Function::value(x);
                               },
                               [](std::span<const float> values, std::span<float> gradient) {
                                 for (std::size_t i = 0; i < values.size(); ++i)
                                   gradient[i] *= Function::slope(values[i]);
                               }};

// 0.5 x (1 + tanh(u)) equals x sigmoid(2u).
struct GeluTanh {
  static constexpr float kScale =
      static_cast<float>(2.0 * std::numbers::sqrt2 * std::numbers::inv_sqrtpi);  // 2 sqrt(2/pi)
  static float u(float x) { return kScale * (x + 0.044715f * x * x * x); }
  static float slope(float x) { return kScale * (1.0f + 3.0f * 0.044715f * x * x); }
};
struct QuickGelu {
  static float u(float x) { return 1.702f * x; }
  static float slope(float) { return 1.702f; }
};
struct Silu {
  static float u(float x) { return x; }
  static float slope(float) { return 1.0f; }
};
struct GeluErf {
  static float normal(float x) {
    return 0.5f * std::erfc(-x * static_cast<float>(1.0 / std::numbers::sqrt2));
  }
  static float value(float x) { return x * normal(x); }
  static float slope(float x) {
    constexpr auto kDensity =
        static_cast<float>(std::numbers::inv_sqrtpi / std::numbers::sqrt2);  // 1 / sqrt(2 pi)
    return normal(x) + x * kDensity * std::exp(-0.5f * x * x);
  }
};
struct Relu {
  static float value(float x) { return std::max(x, 0.0f); }
  static float slope(float x) { return x > 0 ? 1.0f : 0.0f; }
};
struct ReluSquared {
  static float value(float x) { return x > 0 ? x * x : 0.0f; }
  static float slope(float x) { return x > 0 ? 2.0f * x : 0.0f; }
};
struct Tanh {
  static float value(float x) { return std::tanh(x); }
  static float slope(float x) { return 1.0f - value(x) * value(x); }
};
struct Sigmoid {
  static float value(float x) { return 1.0f / (1.0f + std::exp(-x)); }
  static float slope(float x) { return value(x) * (1.0f - value(x)); }
};
struct Identity {
  static float value(float x) { return x; }
  static float slope(float) { return 1.0f; }
};

constexpr std::array<std::pair<const char*, Activation>, 13> kActivations{{
    {"gelu_new", kGated<GeluTanh>},
    {"gelu_pytorch_tanh", kGated<GeluTanh>},
    {"gelu_fast", kGated<GeluTanh>},
    {"gelu_accurate", kGated<GeluTanh>},
    {"gelu", kPlain<GeluErf>},
    {"quick_gelu", kGated<QuickGelu>},
    {"silu", kGated<Silu>},
    {"swish", kGated<Silu>},
    {"relu", kPlain<Relu>},
    {"relu2", kPlain<ReluSquared>},
    {"tanh", kPlain<Tanh>},
    {"sigmoid", kPlain<Sigmoid>},
    {"linear", kPlain<Identity>},
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
