// The activation functions that config.json files name.
#pragma once

#include <span>
#include <string>

#include "headgauge/base.hpp"

namespace headgauge {

using Activation = void (*)(std::span<float>);

// Finds the in-place function of that name. Throws UnsupportedError that lists the known names.
Activation find_activation(const std::string& name, const std::string& where);

}  // namespace headgauge
