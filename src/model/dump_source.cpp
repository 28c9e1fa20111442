// Reads heads from a dump file: computes nothing, only widens tensors.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "headgauge/model.hpp"
#include "headgauge/results.hpp"
#include "heads/masked_row.hpp"
#include "kernels/softmax.hpp"

namespace headgauge {
namespace {

// A tensor as float32: mapped in place if its type and alignment allow it, else a widened copy.
// Both are checked for NaN and infinities.
class FloatTensor {
 public:
  void load(const TensorView& tensor) {
    read(tensor);
    tensor.check_finite(values_);
  }
  // Loads scores; a row of -Inf only is a query that sees no key.
  void load_scores(const TensorView& tensor) {
    read(tensor);
    for (Index first = 0; first < std::ssize(values_); first += cols_) {
      const auto row =
          values_.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(cols_));
      if (first_non_finite(row) < 0 || sees_nothing(row)) continue;
      tensor.check_finite(row, first);
    }
  }
  // Returns matrix `i` of a three-dimensional tensor, or the whole of a two-dimensional one.
  MatrixView<const float> matrix(Index i = 0) const {
    return {values_.data() + i * rows_ * cols_, rows_, cols_};
  }

 private:
  void read(const TensorView& tensor) {
    values_ = tensor.mapped_floats();
    if (values_.empty()) {
      copy_.resize(static_cast<std::size_t>(tensor.elements()));
      tensor.widen(copy_, 0, false);
      values_ = copy_;
    }
    rows_ = tensor.shape[tensor.shape.size() - 2];
    cols_ = tensor.shape.back();
  }

  std::span<const float> values_;
  AlignedVector<float> copy_;
  Index rows_ = 0;
  Index cols_ = 0;
};

class DumpSource final : public HeadSource {
 public:
  DumpSource(const ResolvedModel& model, const SourceOptions& options)
      : dump_(model.weights.front()),
        by_value_(options.x == XSource::value),
        pool_(thread_count(options.threads)) {
    fill_info(model);
  }

  const SourceInfo& info() const override { return info_; }

  void describe(Results& results) const override {
    results.model.causal = dump_.causal();
    results.model.scale = dump_.scale();
    dump_.file().require_unchanged();
    results.model.weights_sha256 = weights_sha256_;
    results.text = {.names = {info_.name},
                    .sha256 = {std::nullopt},
                    .tokens = {dump_.length()},
                    .tokens_total = {dump_.length()}};
  }

  std::span<const HeadInput> layer(int layer, int document) override {
    heads_.clear();
    if (!info_.has_attention(layer)) return heads_;
    load(layer);
    for (int h = 0; h < info_.heads; ++h) heads_.push_back(make_head(layer, document, h));
    intervene_in_layer(heads_, interventions_, pool_);
    return heads_;
  }

  void set_context(Index length) override {
    context_ = length;
    const std::string notice = fmt::format(
        "{} was made of a context of {} tokens: at shorter lengths a head attends among the first "
        "of them, with queries and keys that saw all",
        info_.name, dump_.length());
    const bool said = std::ranges::find(info_.notices, notice) != info_.notices.end();
    if (length < dump_.length() && !said) info_.notices.push_back(notice);
  }

  void intervene(const HeadInterventions& interventions) override {
    require_all_heads(interventions, info_);
    interventions_ = interventions;
  }

 private:
  void fill_info(const ResolvedModel& model) {
    info_.name = model.name;
    info_.family = "dump";
    info_.layers = static_cast<int>(dump_.layers().size());
    info_.heads = static_cast<int>(dump_.heads());
    info_.kv_heads = static_cast<int>(dump_.kv_heads());
    info_.head_dim = dump_.head_dim();
    info_.max_length = dump_.length();
    info_.causal = dump_.causal();
    info_.has_values = dump_.value_dim() > 0;
    info_.value_dim = dump_.value_dim();
    if (info_.has_values) info_.element_bytes = dtype_bits(dump_.first_layer().v->dtype) / 8;
    info_.has_x = by_value_ ? info_.has_values : dump_.x_dim() > 0;
    info_.x_dim = by_value_ ? dump_.value_dim() : dump_.x_dim();
    info_.has_loss = false;
    info_.documents = {dump_.length()};
    info_.layer_types.assign(dump_.layers().size(), "full_attention");
    info_.windows.assign(dump_.layers().size(), 0);
    info_.without_attention = dump_.without_attention();
    if (std::string notice = without_attention_notice(info_); !notice.empty()) {
      info_.notices.push_back(std::move(notice));
    }
    info_.bytes = layer_bytes();
    if (!info_.has_x) {
      info_.notices.push_back(
          std::string("the dump holds no ") + (by_value_ ? "v" : "x") +
          ": what needs vectors (distance, separability, union coverage) is left out");
    }
  }

  // Only one layer, mapped or widened, is in memory at a time.
  std::size_t layer_bytes() const {
    const DumpFile::Layer& layer = dump_.first_layer();
    std::size_t bytes = 0;
    for (const TensorView* tensor : {layer.q, layer.k, layer.v, layer.x, layer.scores}) {
      if (tensor == nullptr) continue;
      bytes += tensor->bytes.size();
      if (tensor->mapped_floats().empty())
        bytes += 4 * static_cast<std::size_t>(tensor->elements());
    }
    return bytes;
  }

  void load(int layer) {
    if (layer == loaded_) return;
    dump_.file().require_unchanged();
    const DumpFile::Layer& tensors = dump_.layers()[layer];
    if (tensors.scores != nullptr) {
      scores_.load_scores(*tensors.scores);
    } else {
      queries_.load(*tensors.q);
      keys_.load(*tensors.k);
    }
    if (tensors.v != nullptr) values_.load(*tensors.v);
    const bool have_x = dump_.shares_x() && loaded_ >= 0;
    if (tensors.x != nullptr && !by_value_ && !have_x) {
      x_.load(*tensors.x);
      x_row_of_ = first_equal_rows(in_context(x_.matrix()));
    }
    loaded_ = layer;
  }

  HeadInput make_head(int layer, int document, int h) const {
    HeadInput head;
    head.layer = layer;
    head.head = h;
    head.kv_head = h / (info_.heads / info_.kv_heads);
    head.document = document;
    head.visibility = info_.causal ? Visibility::causal() : Visibility::full();
    head.scale = dump_.scale();
    if (dump_.has_scores()) {
      head.scores = scores_.matrix(h).block(0, context_, 0, context_);
    } else {
      head.queries = in_context(queries_.matrix(h));
      head.keys = in_context(keys_.matrix(head.kv_head));
    }
    if (info_.has_values) head.values = in_context(values_.matrix(head.kv_head));
    if (info_.has_x) head.x = vectors(layer, head.kv_head);
    return head;
  }

  // Returns the rows of a whole tensor that are in the context.
  MatrixView<const float> in_context(MatrixView<const float> rows) const {
    return rows.block(0, context_, 0, rows.cols());
  }

  // The ids distinguish the vectors of layers and heads, and are never 0.
  Vectors vectors(int layer, int kv_head) const {
    if (by_value_) {
      const auto head_key = static_cast<std::uint64_t>(kv_head + 1) << 32;
      return {in_context(values_.matrix(kv_head)),
              {},
              head_key | static_cast<std::uint64_t>(layer + 1)};
    }
    return {in_context(x_.matrix()), x_row_of_,
            dump_.shares_x() ? 1 : static_cast<std::uint64_t>(layer + 1)};
  }

  DumpFile dump_;
  bool by_value_;
  std::vector<std::uint32_t> x_row_of_;
  ThreadPool pool_;
  SourceInfo info_;
  std::string weights_sha256_ = dump_.file().sha256();
  HeadInterventions interventions_;
  int loaded_ = -1;
  Index context_ = dump_.length();  // set by set_context()
  FloatTensor queries_, keys_, values_, x_, scores_;
  std::vector<HeadInput> heads_;
};

}  // namespace

std::unique_ptr<HeadSource> make_dump_source(const ResolvedModel& model,
                                             const SourceOptions& options) {
  return std::make_unique<DumpSource>(model, options);
}

}  // namespace headgauge
