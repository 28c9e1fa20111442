// A source that gets its tensors from a Python object, one layer at a time, and a model that opens
// these sources.
#include <fmt/format.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "headgauge/model.hpp"
#include "headgauge/normalize.hpp"
#include "headgauge/patterns.hpp"
#include "headgauge/results.hpp"
#include "headgauge/session.hpp"

namespace headgauge::python {
namespace {

using Array3 = nb::ndarray<const float, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Array2 = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Returns one head of an array with dims heads, positions, components.
MatrixView<const float> head_of(const Array3& array, Index head) {
  const auto rows = static_cast<Index>(array.shape(1));
  const auto columns = static_cast<Index>(array.shape(2));
  return {array.data() + head * rows * columns, rows, columns};
}

// The arrays that the object returned for one layer of one document.
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
  bool cross = false;
  std::string type;
};

// Selects the keys within a distance, for a query that sees both directions.
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

// Takes the value of that name, unless there is none.
template <class T>
void take(const nb::dict& fields, const char* name, T& into) {
  if (fields.contains(name) && !fields[name].is_none()) into = nb::cast<T>(fields[name]);
}

Layer layer_of(const nb::dict& fields) {
  Layer layer;
  take(fields, "queries", layer.queries);
  take(fields, "keys", layer.keys);
  take(fields, "values", layer.values);
  take(fields, "x", layer.x);
  take(fields, "position_bias", layer.position_bias);
  take(fields, "tokens", layer.tokens);
  take(fields, "x_key", layer.x_key);
  take(fields, "scale", layer.scale);
  take(fields, "softcap", layer.softcap);
  take(fields, "window", layer.window);
  take(fields, "reach", layer.reach);
  take(fields, "sinks", layer.sinks);
  take(fields, "causal", layer.causal);
  take(fields, "cross", layer.cross);
  take(fields, "type", layer.type);
  return layer;
}

SourceInfo info_of(const nb::dict& fields) {
  SourceInfo info;
  take(fields, "name", info.name);
  take(fields, "family", info.family);
  take(fields, "layers", info.layers);
  take(fields, "heads", info.heads);
  take(fields, "kv_heads", info.kv_heads);
  take(fields, "head_dim", info.head_dim);
  take(fields, "value_dim", info.value_dim);
  take(fields, "x_dim", info.x_dim);
  take(fields, "max_length", info.max_length);
  take(fields, "element_bytes", info.element_bytes);
  take(fields, "causal", info.causal);
  take(fields, "has_x", info.has_x);
  take(fields, "has_unrotated", info.has_unrotated);
  take(fields, "has_values", info.has_values);
  take(fields, "has_loss", info.has_loss);
  take(fields, "runs_normalizer", info.runs_normalizer);
  take(fields, "has_tokens", info.has_tokens);
  take(fields, "documents", info.documents);
  take(fields, "layer_types", info.layer_types);
  take(fields, "windows", info.windows);
  take(fields, "without_attention", info.without_attention);
  take(fields, "notices", info.notices);
  if (std::string notice = without_attention_notice(info); !notice.empty()) {
    info.notices.push_back(std::move(notice));
  }
  return info;
}

// The distinct entries of `interventions` as Python objects; `places` become their numbers, -1 for
// heads without a change.
class Entries {
 public:
  int place(const HeadIntervention& intervention) {
    if (!intervention.changes()) return -1;
    const auto found = std::ranges::find(entries_, intervention);
    const auto place = static_cast<int>(found - entries_.begin());
    if (found == entries_.end()) {
      entries_.push_back(intervention);
      list_.append(nb::make_tuple(rule_object(intervention.normalizer),
                                  pattern_object(intervention.pattern)));
    }
    return place;
  }
  const nb::list& list() const { return list_; }

 private:
  std::vector<HeadIntervention> entries_;
  nb::list list_;
};

NextTokens next_tokens_of(const nb::handle& said) {
  const auto numbers = [&](const char* name) {
    return nb::cast<std::vector<double>>(said.attr(name));
  };
  return {numbers("losses"), nb::cast<std::vector<std::uint8_t>>(said.attr("right")),
          nb::cast<std::vector<int>>(said.attr("likeliest")), numbers("divergence"),
          numbers("output_change")};
}

class PythonSource final : public ModelSource {
 public:
  // `documents`: those with which a PythonModel opened the source.
  explicit PythonSource(nb::object object, std::vector<Document> documents = {})
      : info_(info_of(nb::cast<nb::dict>(object.attr("info")()))),
        object_(std::move(object)),
        documents_(std::move(documents)) {
    info_.answers = answers_of(documents_);
  }
  ~PythonSource() override {
    const nb::gil_scoped_acquire acquired;
    layer_.reset();
    try {
      object_.attr("close")();
    } catch (nb::python_error& error) {
      if (error.matches(PyExc_KeyboardInterrupt))
        PyErr_SetInterrupt();  // raise it again where it can propagate
      error.discard_as_unraisable("closing a source");
    }
  }
  PythonSource(const PythonSource&) = delete;
  PythonSource& operator=(const PythonSource&) = delete;

  const SourceInfo& info() const override { return info_; }

  void describe(Results& results) const override {
    const nb::gil_scoped_acquire acquired;
    const auto said = from_python(object_.attr("describe")(), info_.name);
    auto model = to_json(results.model);
    model.update(said["model"]);
    results.model = model_from_json(model);
    if (documents_.empty()) results.text = text_from_json(said["text"]);
    describe_documents(documents_, info_, results);
  }

  std::span<const HeadInput> layer(int layer, int document) override {
    heads_.clear();
    if (!info_.has_attention(layer)) return heads_;
    const Index length = context_ == 0 ? info_.documents[document] : context_;
    if (length > info_.documents[document]) return heads_;
    {
      const nb::gil_scoped_acquire acquired;
      layer_.reset();
      layer_.emplace(layer_of(nb::cast<nb::dict>(object_.attr("layer")(layer, document))));
      if (const auto& x = layer_->x) {
        const auto rows = static_cast<Index>(x->shape(0));
        x_row_of_ = first_equal_rows({x->data(), rows, static_cast<Index>(x->shape(1))});
      }
    }
    sinks_.clear();
    for (const double b : layer_->sinks)
      sinks_.push_back(make_normalizer(fmt::format("sink:b={}", b)));
    for (int h = 0; h < info_.heads; ++h) heads_.push_back(make_head(layer, document, h));
    intervene_in_layer(heads_, interventions_, pool_);
    return heads_;
  }

  std::vector<int> token_ids(int document) const override {
    const nb::gil_scoped_acquire acquired;
    return nb::cast<std::vector<int>>(object_.attr("token_ids")(document));
  }

  void set_context(Index length) override {
    const nb::gil_scoped_acquire acquired;
    object_.attr("set_context")(length);
    context_ = length;
  }

  void look_at(const QueriesOfDocument& queries) override {
    std::vector<std::vector<Index>> of_documents;
    for (int document = 0; queries && document < static_cast<int>(info_.documents.size());
         ++document) {
      of_documents.push_back(queries(document));
    }
    const nb::gil_scoped_acquire acquired;
    object_.attr("look_at")(nb::cast(of_documents));
  }

  void intervene(const HeadInterventions& interventions) override {
    require_all_heads(interventions, info_);
    const nb::gil_scoped_acquire acquired;
    Entries entries;
    nb::list layers;
    for (int l = 0; l < interventions.layers(); ++l) {
      nb::list places;
      for (int h = 0; h < interventions.heads(); ++h)
        places.append(entries.place(interventions(l, h)));
      layers.append(places);
    }
    object_.attr("intervene")(entries.list(), layers);
    interventions_ = interventions;
  }

  // Passes of Python models begin at the first layer.
  void keep_entering(int /*layer*/) override {}
  int first_layer() const override { return 0; }

  void set_reference() override {
    const nb::gil_scoped_acquire acquired;
    object_.attr("set_reference")();
  }

  NextTokens next_tokens(int document) override {
    const nb::gil_scoped_acquire acquired;
    return next_tokens_of(object_.attr("next_tokens")(document));
  }

  std::vector<Gradients> gradients(std::span<const int> documents, const GatedHeads& heads,
                                   const Differentiated& what) override {
    std::vector<Gradients> found;
    for (const int document : documents) {
      what.before_layer();
      const nb::gil_scoped_acquire acquired;  // released between documents
      Entries entries;
      std::vector<int> choices;
      for (const HeadIntervention& choice : heads.choices) choices.push_back(entries.place(choice));
      std::vector<std::vector<std::vector<double>>> gates(static_cast<std::size_t>(info_.layers));
      heads.gates.each([&](int layer, int, const std::vector<double>& of_head) {
        gates[static_cast<std::size_t>(layer)].push_back(of_head);
      });
      const auto weighed = [&](std::vector<double> losses) {
        return what.weigh(document, {.losses = std::move(losses)});
      };
      const auto said = nb::cast<nb::tuple>(object_.attr("gradients")(
          document, entries.list(), choices, gates, nb::cpp_function(weighed)));
      Gradients& one = found.emplace_back();
      one.next = next_tokens_of(said[0]);
      one.gates = heads.gates;
      const auto by_gates = nb::cast<decltype(gates)>(said[1]);
      one.gates.each([&](int layer, int head, std::vector<double>& of_head) {
        of_head = by_gates[static_cast<std::size_t>(layer)][static_cast<std::size_t>(head)];
      });
    }
    return found;
  }

  std::vector<NextTokens> try_interventions(int layer, int document,
                                            std::span<const LayerInterventions> variants) override {
    std::vector<NextTokens> found;
    for (const LayerInterventions& variant : variants) {
      const nb::gil_scoped_acquire acquired;  // released between variants
      Entries entries;
      nb::list places;
      for (const HeadIntervention& of_head : variant) places.append(entries.place(of_head));
      found.push_back(next_tokens_of(
          object_.attr("try_intervention")(layer, document, entries.list(), places)));
    }
    return found;
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
      head.x = {{layer_->x->data(), rows, static_cast<Index>(layer_->x->shape(1))},
                x_row_of_,
                layer_->x_key};
    } else if (info_.has_x) {  // XSource::value
      head.x = {head.values, {}, layer_->x_key + (static_cast<std::uint64_t>(kv_head + 1) << 32)};
    }
    head.scale = layer_->scale;
    head.softcap = layer_->softcap;
    if (const auto& bias = layer_->position_bias) {
      const auto count = bias->shape(1);
      head.position_bias = {bias->data() + static_cast<std::size_t>(h) * count, count};
    }
    head.cross = layer_->cross;
    head.visibility = !layer_->causal      ? Visibility::full()
                      : layer_->window > 0 ? Visibility::sliding_window(layer_->window)
                                           : Visibility::causal();
    if (layer_->reach > 0) {
      head.visibility = head.visibility.masked(std::make_shared<Reach>(layer_->reach));
    }
    if (!sinks_.empty()) head.normalizer = sinks_[h].get();
    return head;
  }

  SourceInfo info_;
  Held object_;
  std::vector<Document> documents_;
  HeadInterventions interventions_;
  ThreadPool pool_{1};
  Index context_ = 0;  // 0: the whole document
  std::optional<Layer> layer_;
  std::vector<std::uint32_t> x_row_of_;
  std::vector<std::unique_ptr<Normalizer>> sinks_;  // one for each head of the layer; empty: none
  std::vector<HeadInput> heads_;
};

class PythonModel final : public CustomModel {
 public:
  explicit PythonModel(nb::object object) : object_(std::move(object)) {
    summary_.positions = nb::cast<Index>(object_.attr("positions"));
  }

  ModelSummary summary() const override { return summary_; }

  std::unique_ptr<HeadSource> open(std::vector<Document> documents, XSource x) override {
    const nb::gil_scoped_acquire acquired;
    nb::list tokens;
    std::vector<Index> answered;
    for (Document& document : documents) {
      document.total = std::max(document.total, document.size());
      if (summary_.positions > 0) document.cut(static_cast<std::size_t>(summary_.positions));
      tokens.append(nb::cast(document.tokens));
      answered.push_back(document.answer.tokens);
    }
    const char* const of_x = x == XSource::embedding ? "embedding"
                             : x == XSource::value   ? "value"
                                                     : "hidden";
    nb::object source = object_.attr("open")(tokens, of_x, answered);
    return std::make_unique<PythonSource>(std::move(source), std::move(documents));
  }

 private:
  Held object_;
  ModelSummary summary_;
};

}  // namespace

std::unique_ptr<HeadSource> make_python_source(nb::object object) {
  return std::make_unique<PythonSource>(std::move(object));
}

std::shared_ptr<CustomModel> make_python_model(nb::object object) {
  return std::make_shared<PythonModel>(std::move(object));
}

}  // namespace headgauge::python
