// Included before hwy/foreach_target.h by every kernel: of the levels of x86 compiles AVX-512
// (Highway's AVX3) and AVX2, for which the kernels are tuned, and below them only the plain code.
// The others would triple the compile time for machines that are ten years old; and Highway 1.2
// has more of them than 1.0 (AVX3_ZEN4 and AVX3_SPR above, SSE2 below), so that what runs would
// depend on its version.
#pragma once

#define HWY_DISABLED_TARGETS \
  (((1LL << (HWY_HIGHEST_TARGET_BIT_X86 + 1)) - 1) & ~(HWY_AVX3 | HWY_AVX2))

// Where Highway has no real vectors the kernels run their plain reference code instead.
#define HEADGAUGE_PLAIN (HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128)
