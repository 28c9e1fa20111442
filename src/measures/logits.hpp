// The logits group: how large the logits of a head get, before its normalizer (docs/mathematics.md
// 7a).
#pragma once

#include <memory>

#include "headgauge/measure.hpp"

namespace headgauge {

std::unique_ptr<Measure> make_logits_measure(int slots);

}  // namespace headgauge
