#include "model/layers.hpp"

#include <algorithm>
#include <cmath>

namespace headgauge {

void LayerNorm::apply(MatrixView<const float> x, MatrixView<float> out) const {
  const Index width = x.cols();
  for (Index r = 0; r < x.rows(); ++r) {
    const auto in = x.row(r);
    double sum = 0;
    for (float v : in) sum += v;
    const double mean = sum / static_cast<double>(width);
    double squares = 0;
    for (float v : in) squares += (v - mean) * (v - mean);
    const double variance = squares / static_cast<double>(width);
    const auto scale = static_cast<float>(1.0 / std::sqrt(variance + epsilon));
    const auto shift = static_cast<float>(mean);
    const auto to = out.row(r);
    for (std::size_t i = 0; i < in.size(); ++i) {
      to[i] = (in[i] - shift) * scale * weight[i] + bias[i];
    }
  }
}

void load_conv1d(const Checkpoint& checkpoint, const std::string& name, Index in, Index out,
                 ThreadPool& pool, Linear& linear) {
  constexpr Index kStrip = 16;  // rows that are in the cache between widening and packing
  const TensorView& weight = checkpoint.require(name + ".weight", {in, out});
  linear.bias = checkpoint.require(name + ".bias", {out}).values();
  linear.weight.resize(in, out);
  pool.for_each((in + kStrip - 1) / kStrip, [&](Index strip) {
    thread_local AlignedVector<float> wide;
    const Index first = strip * kStrip, rows = std::min(kStrip, in - first);
    const auto size = static_cast<std::size_t>(rows * out);
    if (wide.size() < size) wide.resize(size);
    weight.widen({wide.data(), size}, first * out);
    linear.weight.put_rows({wide.data(), rows, out}, first);
  });
}

LayerNorm load_layer_norm(const Checkpoint& checkpoint, const std::string& name, Index width,
                          double epsilon) {
  return {checkpoint.require(name + ".weight", {width}).values(),
          checkpoint.require(name + ".bias", {width}).values(), epsilon};
}

}  // namespace headgauge
