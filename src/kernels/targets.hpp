// Included before hwy/foreach_target.h by every kernel: compiles AVX-512 (Highway's AVX3), AVX2 and
// the baseline only, since the levels in between would triple the compile time for machines that
// are ten years old.
#pragma once

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)

// Where Highway has no real vectors the kernels run their plain reference code instead.
#define HEADGAUGE_PLAIN (HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128)
