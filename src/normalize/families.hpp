// The families of normalizers: each has one file and one line here.
#pragma once

#include "headgauge/normalize.hpp"
#include "normalize/registry.hpp"

namespace headgauge {

using NormalizerMakers = Makers<NormalizerInfo, Normalizer>;

NormalizerMakers scaled_softmax_normalizers();
NormalizerMakers adaptive_normalizers();
NormalizerMakers entmax_normalizers();
NormalizerMakers sink_normalizers();
NormalizerMakers sigmoid_normalizers();
NormalizerMakers self_adjust_normalizers();
NormalizerMakers top_k_normalizers();

}  // namespace headgauge
