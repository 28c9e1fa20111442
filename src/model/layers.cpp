#include "model/layers.hpp"

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

Linear load_conv1d(const Checkpoint& checkpoint, const std::string& name, Index in, Index out) {
  Linear linear;
  linear.weight =
      PackedMatrix::pack_rows(checkpoint.require(name + ".weight", {in, out}).matrix().view());
  linear.bias = checkpoint.require(name + ".bias", {out}).values();
  return linear;
}

LayerNorm load_layer_norm(const Checkpoint& checkpoint, const std::string& name, Index width,
                          double epsilon) {
  return {checkpoint.require(name + ".weight", {width}).values(),
          checkpoint.require(name + ".bias", {width}).values(), epsilon};
}

}  // namespace headgauge
