// What the processor can do at most, measured at the SIMD level in use on one thread: the two
// figures that rooflines are made of.
#pragma once

namespace headgauge {

// Floating-point operations a second of fused multiply-adds (2 a lane) with operands from the L1
// cache, as in a matrix product; without them some processors run at a higher clock.
double fma_peak();

// Elements a second of exp_shifted() on a row in the L1 cache.
double exp_rate();

}  // namespace headgauge
