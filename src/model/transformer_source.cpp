
#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>

#include "base/memory.hpp"
#include "headgauge/results.hpp"
#include "model/attention.hpp"
#include "model/document_states.hpp"
#include "model/families.hpp"
#include "model/layers.hpp"
#include "model/next_token.hpp"
#include "model/reverse_pass.hpp"

namespace headgauge {
namespace {

class TransformerSource final : public ModelSource {
 public:
  TransformerSource(std::unique_ptr<Transformer> model, std::vector<Document> documents,
                    const SourceOptions& options)
      : model_(std::move(model)),
        documents_(std::move(documents)),
        x_(options.x),
        variant_bytes_(options.variant_bytes),
        stream_bytes_(options.stream_bytes),
        pool_(thread_count(options.threads)),
        info_(model_->info()),
        states_(documents_.size()) {
    // Checks the weights first: if they alone do not fit, an error must not suggest a shorter
    // context.
    require_memory(model_->bytes(0, 1), "weights of " + info_.name,
                   "use a smaller model, or allow more memory");
    fill_info();
    const auto& unstated = model_->checkpoint().notices();
    info_.notices.insert(info_.notices.end(), unstated.begin(), unstated.end());
  }

  const SourceInfo& info() const override { return info_; }

  void describe(Results& results) const override {
    require_unchanged();
    describe_model(model_->checkpoint(), results);
    describe_documents(documents_, info_, results);
  }

  std::span<const HeadInput> layer(int layer, int document) override {
    enter_layer(layer, document);
    finish_layer();
    return heads_;
  }

  std::span<const HeadInput> begin_layer(int layer, int document) override {
    enter_layer(layer, document);
    if (in_layer_of_ != nullptr) scored_.begin(heads_, attended_, attention_, pool_);
    return heads_;
  }

  void finish_layer() override {
    if (in_layer_of_ == nullptr) return;
    scored_.finish(heads_, attended_, attention_, pool_);
    model_->finish(attended_, in_layer_of_->residual, pool_);
    in_layer_of_ = nullptr;
  }

  std::vector<std::string> token_texts(int document) const override {
    const Document& text = documents_[document];
    const auto longest = std::ssize(text);
    if (longest < context_) return {};
    return text.context_texts(context_ > 0 ? context_ : longest);
  }

  std::vector<int> token_ids(int document) const override {
    const Document& text = documents_[document];
    return text.context(context_ > 0 ? context_ : std::ssize(text));
  }

  void intervene(const HeadInterventions& interventions) override {
    require_all_heads(interventions, info_);
    interventions_ = interventions;
    first_layer_ = 0;
    const bool kept = kept_layer_ > 0 && has_kept_;
    if (kept && first_changed_layer(interventions_) >= kept_layer_) first_layer_ = kept_layer_;
    states_.each_begun([&](DocumentState& state) {
      first_layer_ > 0 ? copy(state.kept, state.residual) : enter(state);
    });
  }

  void set_context(Index length) override {
    for (const Document& document : documents_) {
      if (std::ssize(document) >= length) document.require_room(length);
    }
    context_ = length;
    ++contexts_;
    first_layer_ = 0;
    states_.begin_anew();
    has_kept_ = false;
  }

  void keep_entering(int layer) override { kept_layer_ = layer > 0 ? layer : -1; }
  int first_layer() const override { return first_layer_; }

  std::span<std::byte> state(int document) override {
    return DocumentStates::bytes_of(begun(document).residual);
  }
  bool begin_at(int layer, int document) override {
    begun(document).next_layer = layer;
    return true;
  }

  void set_reference() override {
    states_.each_begun([&](DocumentState& state) { leave(state.residual, state.reference); });
  }

  NextTokens next_tokens(int document) override {
    const DocumentState& state = begun(document);
    Matrix<float> hidden;
    leave(state.residual, hidden);
    if (!info_.has_loss) return changed_output(state.reference, hidden);
    const MatrixView<const float> rows = predicting(document, std::as_const(hidden).view());
    NextTokens next =
        std::move(compare_next_tokens(reference(document), {&rows, 1}, model_->output_embedding(),
                                      targets(document), model_->logit_cap(), pool_)
                      .front());
    require_unchanged();
    return next;
  }

  std::vector<Gradients> gradients(std::span<const int> documents, const GatedHeads& heads,
                                   const Differentiated& what) override {
    std::vector<ReversePass::Text> texts;
    for (const int document : documents) {
      const DocumentState& state = begun(document);
      ReversePass::Text& text = texts.emplace_back();
      enter(state, text.residual);
      text.complete = [=, this](HeadInput& head) { complete(head, document, begun(document)); };
      text.predicting = [=, this](MatrixView<const float> hidden) {
        return predicting(document, hidden);
      };
      text.targets = targets(document);
      text.weigh = [&what, document](const NextTokens& next) { return what.weigh(document, next); };
    }
    std::vector<Gradients> found = ReversePass(*model_, pool_).run(std::move(texts), heads, what);
    require_unchanged();
    return found;
  }

  std::vector<NextTokens> try_interventions(int layer, int document,
                                            std::span<const LayerInterventions> variants) override {
    const DocumentState& state = begun(document);
    const auto stream = static_cast<std::size_t>(state.residual.rows() * width());
    const std::size_t at_once = std::max<std::size_t>(1, variant_bytes_ / (stream * sizeof(float)));
    std::vector<NextTokens> found;
    for (std::size_t first = 0; first < variants.size(); first += at_once) {
      const auto count = std::min(at_once, variants.size() - first);
      if (first > 0) {  // the variants before it ran later layers
        model_->load(layer, pool_);
        make_heads(document);
      }
      for (NextTokens& next : try_some(layer, document, variants.subspan(first, count))) {
        found.push_back(std::move(next));
      }
    }
    return found;
  }

 private:
  // A run must not mix the numbers of two versions of a model.
  void require_unchanged() const { model_->checkpoint().require_unchanged(); }

  Index width() const { return model_->width(); }
  Index attended_width() const { return info_.heads * info_.head_dim; }

  static void resize(Matrix<float>& matrix, Index rows, Index cols) {
    if (matrix.rows() != rows || matrix.cols() != cols) matrix = Matrix<float>(rows, cols);
  }
  static void copy(const Matrix<float>& from, Matrix<float>& to) {
    resize(to, from.rows(), from.cols());
    std::copy_n(from.data(), from.rows() * from.cols(), to.data());
  }

  // Returns the tokens that next_tokens() predicts, the last of the document.
  std::span<const int> targets(int document) {
    const std::span<const int> tokens = begun(document).tokens;
    const auto all = tokens.size() - std::min<std::size_t>(1, tokens.size());
    const Index answered = info_.is_text(document) ? 0 : info_.predicted(document);
    return tokens.last(answered > 0 ? std::min<std::size_t>(answered, all) : all);
  }

  // Returns the rows of the last hidden states from which the targets are predicted; of a text all
  // rows, because the last one has a divergence, too.
  MatrixView<const float> predicting(int document, MatrixView<const float> hidden) {
    if (info_.is_text(document)) return hidden;
    const Index count = std::ssize(targets(document));
    return hidden.block(hidden.rows() - 1 - count, count, 0, hidden.cols());
  }

  // Returns the reference of the predictions; empty: there is none.
  MatrixView<const float> reference(int document) {
    if (!info_.is_text(document)) return {};
    return std::as_const(begun(document).reference).view();
  }

  // Computes the last hidden states, as input of the output embedding if there is one.
  void leave(const Matrix<float>& residual, Matrix<float>& hidden) {
    if (!info_.has_loss) return copy(residual, hidden);
    resize(hidden, residual.rows(), width());
    model_->leave(residual, hidden, pool_);
  }

  void fill_info() {
    const Index d = width();
    info_.has_tokens = info_.has_texts = true;
    info_.answers = answers_of(documents_);
    info_.x_dim = x_ == XSource::value ? info_.head_dim : d;
    Index longest = 0, total = 0;
    for (Document& document : documents_) {
      document.total = std::max(document.total, document.size());
      if (info_.max_length > 0) document.cut(static_cast<std::size_t>(info_.max_length));
      const auto length = std::ssize(document);
      info_.documents.push_back(length);
      longest = std::max(longest, length);
      total += length;
    }
    const std::string notice = model_->notice(longest);
    if (!notice.empty()) info_.notices.push_back(notice);
    const int threads = pool_.threads();
    const auto streams = [&](Index tokens) {
      return sizeof(float) * static_cast<std::size_t>(2 * tokens * d);
    };
    info_.bytes =
        model_->bytes(longest, threads) +
        attention_bytes(longest, info_.kv_heads, info_.head_dim, threads) + streams(total) +
        sizeof(float) *
            static_cast<std::size_t>(3 * longest * d + 4096 * d + threads * kForwardRows * 2048);
    const bool crowded =
        stream_bytes_ > 0 ? streams(total) > stream_bytes_ : info_.bytes > available_memory() / 2;
    if (documents_.size() < 2 || !crowded) return;
    states_.spill();
    info_.bytes -= streams(total) - streams(longest);
  }

  // Returns a document's state, and makes it when first requested.
  DocumentState& begun(int number) {
    DocumentState& state = states_.present(number);
    if (state.has_begun) return state;
    state.has_begun = true;
    const Document& document = documents_[number];
    const auto longest = std::ssize(document);
    if (longest < context_) return state;
    state.tokens = document.context(context_ > 0 ? context_ : longest);
    std::unordered_map<int, std::uint32_t> row_of_token;
    for (int token : state.tokens) {
      const auto next = static_cast<std::uint32_t>(row_of_token.size());
      state.row_of.push_back(row_of_token.emplace(token, next).first->second);
    }
    state.distinct = Matrix<float>(std::ssize(row_of_token), width());
    for (const auto& [token, row] : row_of_token) model_->embedding(token, state.distinct.row(row));
    model_->checkpoint().release();
    enter(state);
    return state;
  }

  // Turns a document's residual stream into the input of layer 0.
  void enter(DocumentState& state) {
    state.next_layer = 0;
    enter(state, state.residual);
  }
  void enter(const DocumentState& state, Matrix<float>& residual) {
    resize(residual, std::ssize(state.row_of), width());
    for (Index t = 0; t < residual.rows(); ++t) {
      std::ranges::copy(state.distinct.row(state.row_of[t]), residual.row(t).begin());
    }
    model_->enter(residual);
  }

  // Sets document and x of a projected head.
  void complete(HeadInput& head, int document, const DocumentState& state) const {
    head.document = document;
    head.tokens = state.tokens;
    const auto document_key = (contexts_ << 52) | (static_cast<std::uint64_t>(document) + 1);
    const auto layer_key = (static_cast<std::uint64_t>(head.layer) + 1) << 20;
    switch (x_) {
      case XSource::embedding:
        head.x = {state.distinct, state.row_of, document_key};
        break;
      case XSource::hidden:
        head.x = {entered_, {}, layer_key | document_key};
        break;
      case XSource::value:
        head.x = {head.values,
                  {},
                  (static_cast<std::uint64_t>(head.kv_head + 1) << 40) | layer_key | document_key};
        break;
    }
  }

  // Returns the head's intervention from intervene().
  const HeadIntervention& intervention(const HeadInput& head) const {
    static const HeadIntervention none;
    return interventions_.empty() ? none : interventions_(head.layer, head.head);
  }

  // Restores the model's own head.
  void undo(HeadInput& head) const {
    if (!head.own) return;
    head.normalizer = head.own->normalizer;
    head.visibility = head.own->visibility;
    head.own.reset();
  }

  // Runs the pass up to the heads of the layer; there are none if the context is longer than the
  // document.
  void enter_layer(int layer, int document) {
    in_layer_of_ = nullptr;
    heads_.clear();
    if (document <= last_document_) require_unchanged();
    last_document_ = document;
    DocumentState& state = begun(document);
    if (state.tokens.empty()) return;
    model_->load(layer, pool_);
    if (layer == 0 && state.next_layer > 0) enter(state);
    state.next_layer = layer + 1;
    if (layer == kept_layer_) {
      copy(state.residual, state.kept);
      has_kept_ = true;
    }
    // The layer's input is kept for x and for try_interventions().
    copy(state.residual, entered_);
    make_heads(document);
    resize(attended_, state.residual.rows(), attended_width());
    in_layer_of_ = &state;
  }

  // Makes the heads of the loaded layer from its input.
  void make_heads(int document) {
    model_->project(entered_, heads_, pool_);
    const DocumentState& state = begun(document);
    for (HeadInput& head : heads_) complete(head, document, state);
    intervene_in_layer(heads_, interventions_, pool_);
  }

  // Within the layer, only the outputs of the changed heads are computed again.
  std::vector<NextTokens> try_some(int layer, int document,
                                   std::span<const LayerInterventions> variants) {
    const DocumentState& state = begun(document);
    std::vector<Matrix<float>> streams(variants.size());
    std::vector<HeadInput> own = heads_;
    for (HeadInput& head : own) undo(head);
    for (std::size_t v = 0; v < variants.size(); ++v) {
      std::vector<HeadInput> changed;
      for (const HeadInput& head : own) {
        const HeadIntervention& of_head = variants[v][head.head];
        if (of_head == intervention(head)) continue;
        changed.push_back(head);
        of_head.apply(changed.back());
      }
      copy(attended_, branched_);
      if (!changed.empty()) attend(changed, branched_, attention_, pool_);
      copy(entered_, streams[v]);
      model_->finish(branched_, streams[v], pool_);
    }
    // The heads of this layer are views into the model's memory, which project() overwrites.
    for (int later = layer + 1; later < info_.layers; ++later) {
      model_->load(later, pool_);
      for (Matrix<float>& stream : streams) {
        std::vector<HeadInput> heads;
        model_->project(stream, heads, pool_);
        intervene_in_layer(heads, interventions_, pool_);
        attend(heads, branched_, attention_, pool_);
        model_->finish(branched_, stream, pool_);
      }
    }
    for (Matrix<float>& stream : streams) {
      Matrix<float> hidden;
      leave(stream, hidden);
      stream = std::move(hidden);
    }
    if (!info_.has_loss) {
      std::vector<NextTokens> changed;
      for (const Matrix<float>& hidden : streams) {
        changed.push_back(changed_output(state.reference, hidden));
      }
      return changed;
    }
    std::vector<MatrixView<const float>> hidden;
    for (const Matrix<float>& stream : streams) {
      hidden.push_back(predicting(document, stream.view()));
    }
    auto next = compare_next_tokens(reference(document), hidden, model_->output_embedding(),
                                    targets(document), model_->logit_cap(), pool_);
    require_unchanged();
    return next;
  }

  std::unique_ptr<Transformer> model_;
  std::vector<Document> documents_;
  XSource x_;
  std::size_t variant_bytes_, stream_bytes_;
  ThreadPool pool_;
  SourceInfo info_;
  HeadInterventions interventions_;
  int first_layer_ = 0;
  int kept_layer_ = -1;

  Index context_ = 0;           // set by set_context(); 0: whole documents
  std::uint64_t contexts_ = 0;  // number of contexts so far
  DocumentStates states_;
  bool has_kept_ = false;
  int last_document_ = std::numeric_limits<int>::max();  // the document of the last request for a
                                                         // layer
  Matrix<float> entered_;                                // input of the layer
  Matrix<float> attended_;                               // L x heads * d
  Matrix<float> branched_;                               // outputs of the heads of a variant
  AttentionWorkspace attention_;
  ScoredHeads scored_;
  DocumentState* in_layer_of_ = nullptr;  // the document that finish_layer() applies to
  std::vector<HeadInput> heads_;
};

}  // namespace

std::unique_ptr<ModelSource> make_transformer_source(std::unique_ptr<Transformer> transformer,
                                                     std::vector<Document> documents,
                                                     const SourceOptions& options) {
  return std::make_unique<TransformerSource>(std::move(transformer), std::move(documents), options);
}

}  // namespace headgauge
