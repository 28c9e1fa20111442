#include "model/layers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace headgauge {

int cache_bytes(DType type) {
  return dtype_block(type) > 1 ? 2 : dtype_bits(type) / 8;
}

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

void RmsNorm::apply(MatrixView<const float> x, MatrixView<float> out) const {
  const auto width = static_cast<double>(x.cols());
  for (Index r = 0; r < x.rows(); ++r) {
    const auto in = x.row(r);
    double squares = 0;
    for (float v : in) squares += static_cast<double>(v) * v;
    const auto scale = static_cast<float>(1.0 / std::sqrt(squares / width + epsilon));
    const auto to = out.row(r);
    for (std::size_t i = 0; i < in.size(); ++i) to[i] = in[i] * scale * weight[i];
  }
}

// by_x = (g - mean(g) - u mean(g u)) / s, where u = (x - mean(x)) / s is the normalised row and g
// is w * by_out.
void LayerNorm::reverse(MatrixView<const float> x, MatrixView<const float> by_out,
                        MatrixView<float> by_x) const {
  const auto width = static_cast<double>(x.cols());
  for (Index r = 0; r < x.rows(); ++r) {
    const auto in = x.row(r), by = by_out.row(r);
    double sum = 0, squares = 0, first = 0, second = 0;
    for (const float v : in) sum += v;
    const double mean = sum / width;
    for (std::size_t i = 0; i < in.size(); ++i) {
      const double away = in[i] - mean, g = static_cast<double>(by[i]) * weight[i];
      squares += away * away;
      first += g;
      second += g * away;
    }
    const double inverse = 1.0 / std::sqrt(squares / width + epsilon);
    const double slope = second * inverse * inverse / width;
    const auto to = by_x.row(r);
    for (std::size_t i = 0; i < in.size(); ++i) {
      const double g = static_cast<double>(by[i]) * weight[i];
      to[i] = static_cast<float>(inverse * (g - first / width - (in[i] - mean) * slope));
    }
  }
}

// This is LayerNorm::reverse() without the means of x and g.
void RmsNorm::reverse(MatrixView<const float> x, MatrixView<const float> by_out,
                      MatrixView<float> by_x) const {
  const auto width = static_cast<double>(x.cols());
  for (Index r = 0; r < x.rows(); ++r) {
    const auto in = x.row(r), by = by_out.row(r);
    double squares = 0, product = 0;
    for (std::size_t i = 0; i < in.size(); ++i) {
      squares += static_cast<double>(in[i]) * in[i];
      product += static_cast<double>(by[i]) * weight[i] * in[i];
    }
    const double inverse = 1.0 / std::sqrt(squares / width + epsilon);
    const auto scale = static_cast<float>(inverse);
    const auto slope = static_cast<float>(product * inverse * inverse * inverse / width);
    const auto to = by_x.row(r);
    for (std::size_t i = 0; i < in.size(); ++i) {
      to[i] = by[i] * weight[i] * scale - in[i] * slope;
    }
  }
}

void copy_rows(MatrixView<const float> from, MatrixView<float> to) {
  for (Index r = 0; r < to.rows(); ++r) std::ranges::copy(from.row(r), to.row(r).begin());
}

void add_rows(MatrixView<const float> from, MatrixView<float> to) {
  for (Index r = 0; r < to.rows(); ++r) {
    std::ranges::transform(to.row(r), from.row(r), to.row(r).begin(), std::plus());
  }
}

void multiply_rows(MatrixView<const float> from, MatrixView<float> to) {
  for (Index r = 0; r < to.rows(); ++r) {
    std::ranges::transform(to.row(r), from.row(r), to.row(r).begin(), std::multiplies());
  }
}

namespace {

// Packs an out x in matrix in the file's order.
void pack_rows(const TensorView& weight, ThreadPool& pool, PackedMatrix& packed) {
  const Index out = weight.shape[0], in = weight.shape[1];
  packed.resize(in, out);
  pool.for_each(packed.panels(), [&](Index panel) {
    thread_local AlignedVector<float> wide;
    const Index first = panel * PackedMatrix::kPanel;
    const Index rows = std::min(PackedMatrix::kPanel, out - first);
    const auto size = static_cast<std::size_t>(rows * in);
    if (wide.size() < size) wide.resize(size);
    weight.widen({wide.data(), size}, first * in);
    packed.put_panel({wide.data(), rows, in}, panel);
  });
}

// Packs the transpose of what pack_rows() packs.
void pack_columns(const TensorView& weight, ThreadPool& pool, PackedMatrix& packed) {
  constexpr Index kStrip = 16;  // rows that stay in the cache between widening and packing
  const Index rows = weight.shape[0], cols = weight.shape[1];
  packed.resize(rows, cols);
  pool.for_each((rows + kStrip - 1) / kStrip, [&](Index strip) {
    thread_local AlignedVector<float> wide;
    const Index first = strip * kStrip, count = std::min(kStrip, rows - first);
    const auto size = static_cast<std::size_t>(count * cols);
    if (wide.size() < size) wide.resize(size);
    weight.widen({wide.data(), size}, first * cols);
    packed.put_rows({wide.data(), count, cols}, first);
  });
}

}  // namespace

void WeightReader::conv1d(const std::string& name, Index in, Index out, Linear& to) const {
  const TensorView* const weight = tensor(prefix + name + ".weight", {in, out});
  const TensorView* const bias = tensor(prefix + name + ".bias", {out});
  if (weight == nullptr) return;
  to.bias = bias->values();
  const bool turned = weight->transposed;
  const TensorView stored = turned ? weight->transpose() : *weight;
  (turned ? pack_rows : pack_columns)(stored, *pool, to.weight);
  if (loaded == Loaded::reverse) {
    (turned ? pack_columns : pack_rows)(stored, *pool, to.transposed);
  }
}

void WeightReader::linear(const std::string& name, Index in, Index out, bool bias,
                          Linear& to) const {
  const TensorView* const weight = tensor(prefix + name + ".weight", {out, in});
  const TensorView* const added = bias ? tensor(prefix + name + ".bias", {out}) : nullptr;
  if (weight == nullptr) return;
  to.bias = added == nullptr ? AlignedVector<float>() : added->values();
  pack_rows(*weight, *pool, to.weight);
  if (loaded == Loaded::reverse) pack_columns(*weight, *pool, to.transposed);
}

void WeightReader::norm(const std::string& name, Index width, double epsilon, LayerNorm& to) const {
  const TensorView* const weight = tensor(prefix + name + ".weight", {width});
  const TensorView* const bias = tensor(prefix + name + ".bias", {width});
  if (weight != nullptr) to = {weight->values(), bias->values(), epsilon};
}

void WeightReader::norm(const std::string& name, Index width, double epsilon, float offset,
                        RmsNorm& to) const {
  const TensorView* const weight = tensor(prefix + name + ".weight", {width});
  if (weight == nullptr) return;
  to = {weight->values(), epsilon};
  for (float& own : to.weight) own += offset;
}

TableNames find_tables(const Checkpoint& checkpoint, const std::string& embedding, bool tied) {
  const std::string head = "lm_head.weight";
  const TensorView *const in = checkpoint.find(embedding), *const out = checkpoint.find(head);
  const bool both = in != nullptr && out != nullptr;
  if (!tied || (both && !checkpoint.are_equal(*in, *out))) return {embedding, head};
  return out != nullptr && !both ? TableNames{head, head} : TableNames{embedding, embedding};
}

void split_heads(MatrixView<const float> qkv, int heads, const HeadInput& like,
                 std::vector<HeadInput>& out) {
  const Index width = qkv.cols() / 3, d = width / heads;
  out.clear();
  for (int h = 0; h < heads; ++h) {
    HeadInput& head = out.emplace_back(like);
    head.head = head.kv_head = h;
    head.queries = qkv.block(0, qkv.rows(), h * d, d);
    head.keys = qkv.block(0, qkv.rows(), width + h * d, d);
    head.values = qkv.block(0, qkv.rows(), 2 * width + h * d, d);
  }
}

void refuse_further_layers(const Checkpoint& checkpoint, const std::string& prefix, int layers,
                           std::string_view field) {
  int first = std::numeric_limits<int>::max();
  std::string_view found;
  for (const std::string_view name : checkpoint.names()) {
    if (!name.starts_with(prefix)) continue;
    int layer = -1;
    const char* const end = name.data() + name.size();
    const auto [stop, error] = std::from_chars(name.data() + prefix.size(), end, layer);
    if (error != std::errc{} || stop == end || *stop != '.' || layer < layers) continue;
    if (layer >= first) continue;
    first = layer;
    found = name;
  }
  if (found.empty()) return;
  throw BadInputError(
      fault(checkpoint.config().where(field),
            fmt::format("more than {}, because the checkpoint has \"{}\"", first, found),
            std::to_string(layers), "weights and config must come from the same model"));
}

}  // namespace headgauge
