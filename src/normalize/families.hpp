// The families of normalizers: each has one file and one line here.
#pragma once

#include <vector>

#include "headgauge/normalize.hpp"
#include "normalize/registry.hpp"

namespace headgauge {

using NormalizerEntry = RegistryEntry<NormalizerInfo, Normalizer>;
using NormalizerEntries = std::vector<NormalizerEntry>;

NormalizerEntries scaled_softmax_normalizers();
NormalizerEntries adaptive_normalizers();
NormalizerEntries entmax_normalizers();
NormalizerEntries sink_normalizers();
NormalizerEntries sigmoid_normalizers();
NormalizerEntries self_adjust_normalizers();
NormalizerEntries top_k_normalizers();

// Domains that several parameters share.
inline constexpr NumberDomain kAnyNumber{};
inline constexpr NumberDomain kPositive{.lowest = 0, .above = true};
inline constexpr NumberDomain kNotNegative{.lowest = 0};
inline constexpr NumberDomain kCount{.lowest = 1, .highest = 1e9, .whole = true};

}  // namespace headgauge
