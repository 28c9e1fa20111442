// The attention of the forward pass on made heads, against the roofline measured in the same run: 4
// d flop a visible score at the FMA peak and one exp. Prints one JSON line a length.
//
//   bench_attention [heads] [threads] [length,...] [window]
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "headgauge/headgauge.hpp"
#include "kernels/peak.hpp"
#include "kernels/simd.hpp"
#include "model/attention.hpp"

namespace headgauge {
namespace {

constexpr Index kHeadDim = 64;

Matrix<float> random_rows(Index rows, Index columns, std::mt19937& draw) {
  std::normal_distribution<float> normal;
  Matrix<float> made(rows, columns);
  for (Index r = 0; r < rows; ++r) {
    for (float& value : made.row(r)) value = normal(draw);
  }
  return made;
}

void run(Index count, int threads, Index length, Index window) {
  std::mt19937 draw(5);
  const Matrix<float> q = random_rows(length, count * kHeadDim, draw);
  const Matrix<float> k = random_rows(length, count * kHeadDim, draw);
  const Matrix<float> v = random_rows(length, count * kHeadDim, draw);
  std::vector<HeadInput> heads(static_cast<std::size_t>(count));
  for (Index h = 0; h < count; ++h) {
    HeadInput& head = heads[static_cast<std::size_t>(h)];
    head.head = head.kv_head = static_cast<int>(h);
    head.queries = q.view().block(0, length, h * kHeadDim, kHeadDim);
    head.keys = k.view().block(0, length, h * kHeadDim, kHeadDim);
    head.values = v.view().block(0, length, h * kHeadDim, kHeadDim);
    head.scale = 0.125f;
    if (window > 0) head.visibility = Visibility::sliding_window(window);
  }
  double scores = 0;
  for (Index i = 0; i < length; ++i) {
    scores += static_cast<double>(heads.front().visibility.range(i, length).size());
  }
  scores *= static_cast<double>(count);
  Matrix<float> out(length, count * kHeadDim);
  AttentionWorkspace work;
  ThreadPool pool(threads);
  double best = 1e300;
  for (int round = 0; round < 3; ++round) {
    const auto start = std::chrono::steady_clock::now();
    attend(heads, out, work, pool);
    best = std::min(
        best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  const double roof =
      scores * (4.0 * kHeadDim / fma_peak() + 1.0 / exp_rate()) / static_cast<double>(threads);
  fmt::print(
      "{{\"length\": {}, \"heads\": {}, \"threads\": {}, \"simd\": \"{}\", \"seconds\": {:.4f}, "
      "\"ns_per_score\": {:.3f}, \"of_roof\": {:.3f}, \"sum\": {:.3f}}}\n",
      length, count, threads, simd_level(), best, best / scores * 1e9, roof / best,
      out(length - 1, 0));
}

}  // namespace
}  // namespace headgauge

int main(int argc, char** argv) {
  const long heads = argc > 1 ? std::strtol(argv[1], nullptr, 10) : 4;
  const int threads = argc > 2 ? std::atoi(argv[2]) : 2;
  const long window = argc > 4 ? std::strtol(argv[4], nullptr, 10) : 0;
  for (const char* at = argc > 3 ? argv[3] : "16384"; *at != '\0';) {
    char* end = nullptr;
    headgauge::run(heads, threads, std::strtol(at, &end, 10), window);
    at = *end == ',' ? end + 1 : end;
  }
}
