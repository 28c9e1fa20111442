// Included before hwy/foreach_target.h by every kernel: compiles AVX-512 (Highway's AVX3), AVX2 and
// the baseline only, since the levels in between would triple the compile time for machines that
// are ten years old. Those above AVX2 are named by their bits: Highway 1.2 has more of them
// (AVX3_ZEN4, AVX3_SPR) than 1.0, and the kernels are tuned for AVX3 alone.
#pragma once

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | ((HWY_AVX2 - 1) & ~HWY_AVX3))

// Where Highway has no real vectors the kernels run their plain reference code instead.
#define HEADGAUGE_PLAIN (HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128)
