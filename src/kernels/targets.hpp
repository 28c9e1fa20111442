// Every kernel includes this before hwy/foreach_target.h. Of the x86 levels it compiles AVX-512
// (Highway's AVX3) and AVX2, for which the kernels are tuned, and below them SSSE3, which x86
// processors have had since about 2011. The other levels would triple the compile time for
// ten-year-old machines. Highway 1.2 also has more levels than 1.0 (AVX3_ZEN4 and AVX3_SPR above,
// SSE2 below), so that the code that runs would depend on its version.
#pragma once

#define HWY_DISABLED_TARGETS \
  (((1LL << (HWY_HIGHEST_TARGET_BIT_X86 + 1)) - 1) & ~(HWY_AVX3 | HWY_AVX2 | HWY_SSSE3))

#if defined(__x86_64__)
#define HWY_BASELINE_TARGETS HWY_SSSE3
#endif

// The levels at which a load or store under a mask leaves the memory of the other lanes alone.
#define HEADGAUGE_AVX (HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2)
