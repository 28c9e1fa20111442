// The activation functions that config.json files name.
#pragma once

#include <span>
#include <string>

#include "headgauge/base.hpp"

namespace headgauge {

struct Activation {
  void (*apply)(std::span<float>) = nullptr;  // in place
  // Multiplies the gradient by the derivative at the values.
  void (*reverse)(std::span<const float> values, std::span<float> gradient) = nullptr;
  void operator()(std::span<float> values) const { apply(values); }
};

// Finds the function of that name. Throws UnsupportedError that lists the known names.
Activation find_activation(const std::string& name, const std::string& where);

}  // namespace headgauge
