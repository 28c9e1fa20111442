// The scalar functions that normalizers use, in float64.
#pragma once

#include <string_view>

#include "headgauge/normalize.hpp"

namespace headgauge {

// exp, softplus, sigmoid, "1+l^2", taylor2, relu, gelu, identity or relu6.
ScalarFunction scalar_function(std::string_view name);
// relu(x)^power, power > 0.
ScalarFunction relu_power(double power);
// x^power.
ScalarFunction integer_power(int power);
// (1 + x/m)^m, m even.
ScalarFunction shifted_power(int m);

}  // namespace headgauge
