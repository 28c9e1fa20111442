// What the processor can do at most, measured at the SIMD level in use on one thread: the two
// figures that rooflines are made of.
#pragma once

namespace headgauge {

// Floating-point operations a second of fused multiply-adds in registers (2 a lane).
double fma_peak();

// Elements a second of exp_shifted() on a row in the L1 cache.
double exp_rate();

}  // namespace headgauge
