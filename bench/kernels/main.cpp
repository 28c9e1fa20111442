// Micro-benchmarks of the kernels. Every figure is a ratio to a peak measured in the same run where
// there is one: HEADGAUGE_SIMD=avx2 bench_kernels repeats them on AVX2.
#include <benchmark/benchmark.h>

#include <cstdio>

#include "kernels/peak.hpp"
#include "kernels/simd.hpp"

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::AddCustomContext("simd", headgauge::simd_level());
  char figure[64];
  std::snprintf(figure, sizeof figure, "%.1f GFLOP/s", headgauge::fma_peak() * 1e-9);
  benchmark::AddCustomContext("fma_peak", figure);
  std::snprintf(figure, sizeof figure, "%.2f G/s", headgauge::exp_rate() * 1e-9);
  benchmark::AddCustomContext("exp_rate", figure);
  benchmark::RunSpecifiedBenchmarks();
}
