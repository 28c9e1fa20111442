// A HeadSource whose tensors a Python object gives, one layer at a time.
#include <fmt/format.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "headgauge/normalize.hpp"
#include "headgauge/patterns.hpp"
#include "headgauge/results.hpp"

namespace headgauge::python {
namespace {

using Array3 = nb::ndarray<const float, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Array2 = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// One head of an array of heads, positions and components.
MatrixView<const float> head_of(const Array3& array, Index head) {
  const auto rows = static_cast<Index>(array.shape(1));
  const auto columns = static_cast<Index>(array.shape(2));
  return {array.data() + head * rows * columns, rows, columns};
}

// What the object gave for one layer of one document.
struct Layer {
  Array3 queries, keys;
  std::optional<Array3> values;
  std::optional<Array2> x;
  std::optional<Array2> position_bias;
  std::vector<int> tokens;
  std::uint64_t x_key = 0;
  float scale = 1;
  float softcap = 0;
  Index window = 0;
  Index reach = 0;
  std::vector<double> sinks;
  bool causal = true;
  std::string type;
};

// Of a query that sees both ways: the keys at most so far from it.
class Reach final : public KeyMask {
 public:
  explicit Reach(Index reach) : reach_(reach) {}
  std::string name() const override { return "the window on both sides"; }
  void select(Index query, KeyRange range, std::span<const float> /*logits*/,
              std::vector<std::uint32_t>& keys) const override {
    keys.clear();
    const Index begin = std::max(range.begin, query - reach_);
    const Index end = std::min(range.end, query + reach_ + 1);
    for (Index key = begin; key < end; ++key) keys.push_back(static_cast<std::uint32_t>(key));
  }

 private:
  Index reach_;
};

template <class T>
std::optional<T> optional_of(const nb::dict& fields, const char* name) {
  const nb::object value = fields[name];
  if (value.is_none()) return std::nullopt;
  return nb::cast<T>(value);
}

Layer layer_of(const nb::dict& fields) {
  return {.queries = nb::cast<Array3>(fields["queries"]),
          .keys = nb::cast<Array3>(fields["keys"]),
          .values = optional_of<Array3>(fields, "values"),
          .x = optional_of<Array2>(fields, "x"),
          .position_bias = optional_of<Array2>(fields, "position_bias"),
          .tokens = nb::cast<std::vector<int>>(fields["tokens"]),
          .x_key = nb::cast<std::uint64_t>(fields["x_key"]),
          .scale = nb::cast<float>(fields["scale"]),
          .softcap = nb::cast<float>(fields["softcap"]),
          .window = nb::cast<Index>(fields["window"]),
          .reach = nb::cast<Index>(fields["reach"]),
          .sinks = nb::cast<std::vector<double>>(fields["sinks"]),
          .causal = nb::cast<bool>(fields["causal"]),
          .type = nb::cast<std::string>(fields["type"])};
}

SourceInfo info_of(const nb::dict& fields) {
  const auto number = [&](const char* name) { return nb::cast<Index>(fields[name]); };
  const auto flag = [&](const char* name) { return nb::cast<bool>(fields[name]); };
  SourceInfo info;
  info.name = nb::cast<std::string>(fields["name"]);
  info.family = nb::cast<std::string>(fields["family"]);
  info.layers = nb::cast<int>(fields["layers"]);
  info.heads = nb::cast<int>(fields["heads"]);
  info.kv_heads = nb::cast<int>(fields["kv_heads"]);
  info.head_dim = number("head_dim");
  info.value_dim = number("value_dim");
  info.x_dim = number("x_dim");
  info.max_length = number("max_length");
  info.bytes = nb::cast<std::size_t>(fields["bytes"]);
  info.element_bytes = nb::cast<int>(fields["element_bytes"]);
  info.causal = flag("causal");
  info.has_x = flag("has_x");
  info.has_values = flag("has_values");
  info.has_loss = flag("has_loss");
  info.has_tokens = flag("has_tokens");
  info.documents = nb::cast<std::vector<Index>>(fields["documents"]);
  info.layer_types = nb::cast<std::vector<std::string>>(fields["layer_types"]);
  info.windows = nb::cast<std::vector<Index>>(fields["windows"]);
  info.notices = nb::cast<std::vector<std::string>>(fields["notices"]);
  return info;
}

class PythonSource final : public HeadSource {
 public:
  explicit PythonSource(nb::object object)
      : object_(std::move(object)), info_(info_of(nb::cast<nb::dict>(object_.attr("info")()))) {}
  ~PythonSource() override {
    const nb::gil_scoped_acquire acquired;
    layer_.reset();
    object_.reset();
  }
  PythonSource(const PythonSource&) = delete;
  PythonSource& operator=(const PythonSource&) = delete;

  const SourceInfo& info() const override { return info_; }

  void describe(Results& results) const override {
    const nb::gil_scoped_acquire acquired;
    const auto said = from_python(object_.attr("describe")());
    results.model.update(said["model"]);
    results.text = said["text"];
  }

  std::span<const HeadInput> layer(int layer, int document) override {
    heads_.clear();
    const Index length = context_ == 0 ? info_.documents[document] : context_;
    if (length > info_.documents[document]) return heads_;
    {
      const nb::gil_scoped_acquire acquired;
      layer_.reset();
      layer_.emplace(layer_of(nb::cast<nb::dict>(object_.attr("layer")(layer, document))));
    }
    sinks_.clear();
    for (const double b : layer_->sinks)
      sinks_.push_back(make_normalizer(fmt::format("sink:b={}", b)));
    for (int h = 0; h < info_.heads; ++h) heads_.push_back(make_head(layer, document, h));
    return heads_;
  }

  std::vector<double> token_losses(int document) override {
    const nb::gil_scoped_acquire acquired;
    return nb::cast<std::vector<double>>(object_.attr("losses")(document));
  }

  void set_context(Index length) override {
    const nb::gil_scoped_acquire acquired;
    object_.attr("set_context")(length);
    context_ = length;
  }

  void intervene(const HeadInterventions& interventions) override {
    require_all_heads(interventions, info_);
    const nb::gil_scoped_acquire acquired;
    object_.attr("intervene")(!interventions.empty());
    interventions_ = interventions;
  }

 private:
  HeadInput make_head(int layer, int document, int h) const {
    const int kv_head = h / (info_.heads / info_.kv_heads);
    HeadInput head;
    head.layer = layer;
    head.head = h;
    head.kv_head = kv_head;
    head.document = document;
    head.layer_type = layer_->type;
    head.queries = head_of(layer_->queries, h);
    head.keys = head_of(layer_->keys, kv_head);
    if (layer_->values) head.values = head_of(*layer_->values, kv_head);
    head.tokens = layer_->tokens;
    if (layer_->x) {
      const auto rows = static_cast<Index>(layer_->x->shape(0));
      head.x = {
          {layer_->x->data(), rows, static_cast<Index>(layer_->x->shape(1))}, {}, layer_->x_key};
    } else if (info_.has_x) {  // by value
      head.x = {head.values, {}, layer_->x_key + (static_cast<std::uint64_t>(kv_head + 1) << 32)};
    }
    head.scale = layer_->scale;
    head.softcap = layer_->softcap;
    if (const auto& bias = layer_->position_bias) {
      const auto count = bias->shape(1);
      head.position_bias = {bias->data() + static_cast<std::size_t>(h) * count, count};
    }
    head.visibility = !layer_->causal      ? Visibility::full()
                      : layer_->window > 0 ? Visibility::sliding_window(layer_->window)
                                           : Visibility::causal();
    if (layer_->reach > 0) {
      head.visibility = head.visibility.masked(std::make_shared<Reach>(layer_->reach));
    }
    if (!sinks_.empty()) head.normalizer = sinks_[h].get();
    if (!interventions_.empty()) interventions_(layer, h).apply(head);
    return head;
  }

  nb::object object_;
  SourceInfo info_;
  HeadInterventions interventions_;
  Index context_ = 0;  // 0: all
  std::optional<Layer> layer_;
  std::vector<std::unique_ptr<Normalizer>> sinks_;  // of the layer's heads; empty: none
  std::vector<HeadInput> heads_;
};

}  // namespace

std::unique_ptr<HeadSource> make_python_source(nb::object object) {
  return std::make_unique<PythonSource>(std::move(object));
}

}  // namespace headgauge::python
