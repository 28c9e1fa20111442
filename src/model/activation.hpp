// The activation functions that config.json files name.
#pragma once

#include <span>
#include <string>

#include "headgauge/base.hpp"

namespace headgauge {

using Activation = void (*)(std::span<float>);

// The function of that name, applied in place. Throws UnsupportedError that lists what is known.
Activation find_activation(const std::string& name, const std::string& where);

}  // namespace headgauge
