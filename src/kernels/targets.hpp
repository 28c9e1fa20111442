// Every kernel includes this before hwy/foreach_target.h. Of the x86 levels it compiles AVX-512
// (Highway's AVX3) and AVX2, for which the kernels are tuned, and the plain code below them. The
// other levels would triple the compile time for ten-year-old machines. Highway 1.2 also has more
// levels than 1.0 (AVX3_ZEN4 and AVX3_SPR above, SSE2 below), so that the code that runs would
// depend on its version.
#pragma once

#define HWY_DISABLED_TARGETS \
  (((1LL << (HWY_HIGHEST_TARGET_BIT_X86 + 1)) - 1) & ~(HWY_AVX3 | HWY_AVX2))

// If Highway has no real vectors, the kernels run their plain reference code instead.
#define HEADGAUGE_PLAIN (HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128)
