// The input of an analysis: the tensors of one head (HeadInput), the keys that a query sees
// (Visibility), the interventions on heads, and HeadSource, the interface that yields heads.
#pragma once

#include <cassert>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "headgauge/base.hpp"
#include "headgauge/normalize.hpp"
#include "headgauge/parallel.hpp"

namespace headgauge {

class Pattern;
struct Results;
struct SourceInfo;

// The range of keys [begin, end) that a query sees.
struct KeyRange {
  Index begin = 0;
  Index end = 0;
  Index size() const { return end - begin; }
};

// The keys that a sparse pattern keeps for the queries of one head (patterns.hpp).
class KeyMask {
 public:
  virtual ~KeyMask() = default;
  // Returns the name that errors use.
  virtual std::string name() const { return "the mask"; }
  // Returns whether select() reads the logits.
  virtual bool needs_logits() const { return false; }
  // Replaces `keys` by the keys of `range` that `query` sees, ascending. `logits` are those of the
  // keys of `range`, in order; they may be empty unless needs_logits(). Safe to call from several
  // threads.
  virtual void select(Index query, KeyRange range, std::span<const float> logits,
                      std::vector<std::uint32_t>& keys) const = 0;
};

// The keys that a query sees. Query and key positions are 0-based positions in the document.
class Visibility {
 public:
  enum class Kind { full, causal, sliding_window };
  static Visibility full() { return Visibility(Kind::full, 0); }
  static Visibility causal() { return Visibility(Kind::causal, 0); }
  // Causal and limited to the last `window` keys, including the query's own.
  static Visibility sliding_window(Index window) {
    return Visibility(Kind::sliding_window, window);
  }
  // Returns the same range with a mask, which keeps some of its keys.
  Visibility masked(std::shared_ptr<const KeyMask> mask) const {
    Visibility visibility = *this;
    visibility.mask_ = std::move(mask);
    return visibility;
  }
  Kind kind() const { return kind_; }
  Index window() const { return window_; }
  // Returns the mask that hides some keys of range(); null if there is none.
  const KeyMask* mask() const { return mask_.get(); }
  // Returns the visible keys as one range, without applying the mask.
  KeyRange range(Index query, Index keys) const {
    if (kind_ == Kind::full) return {0, keys};
    const Index end = query + 1 < keys ? query + 1 : keys;
    if (kind_ == Kind::causal || query + 1 <= window_) return {0, end};
    return {query + 1 - window_, end};
  }
  bool sees(Index query, Index key, Index keys) const {
    const KeyRange r = range(query, keys);
    return key >= r.begin && key < r.end;
  }
  bool is_causal() const { return kind_ != Kind::full; }

 private:
  Visibility(Kind kind, Index window) : kind_(kind), window_(window) {}
  Kind kind_;
  Index window_;
  std::shared_ptr<const KeyMask> mask_;
};

// The vectors x_i that distances are measured between. Vector i is rows[row_of[i]], or rows[i] if
// row_of is empty; repeated tokens share a row. Two inputs with the same non-zero `key` have the
// same vectors, so that heads can share what is computed from them.
struct Vectors {
  MatrixView<const float> rows;           // distinct vectors x d
  std::span<const std::uint32_t> row_of;  // maps a position to its row
  std::uint64_t key = 0;
  bool empty() const { return rows.empty(); }
  Index dimension() const { return rows.cols(); }
  Index size() const { return row_of.empty() ? rows.rows() : std::ssize(row_of); }
  Index row_index(Index i) const { return row_of.empty() ? i : row_of[i]; }
  std::span<const float> operator[](Index i) const { return rows.row(row_index(i)); }
};

// Maps each row to the first one that is equal to it: the `row_of` of vectors that were given one
// by one, such as embeddings of the tokens of a text.
std::vector<std::uint32_t> first_equal_rows(MatrixView<const float> rows);

// A head's attention without an intervention.
struct OwnAttention {
  const Normalizer* normalizer = nullptr;  // null means the model's softmax
  Visibility visibility = Visibility::causal();
};

// Computes a head's output from the logits of its rows. A caller that needs these logits itself
// passes them in, so that they are computed only once.
class HeadOutput {
 public:
  virtual ~HeadOutput() = default;
  // Takes the logits of the queries from `first` on; every query is given exactly once. The columns
  // are the keys from the first one up to the last that one of the rows sees. The logits include
  // soft-cap and position biases, whatever the mask and the normalizer are. Safe to call from
  // several threads.
  virtual void add(Index first, MatrixView<const float> logits) = 0;
};

// The input of an analysis of one head. The HeadSource owns the data of all views. A view is empty
// if the source does not have that tensor.
struct HeadInput {
  int layer = 0;
  int head = 0;
  int kv_head = 0;
  int document = 0;
  std::string layer_type = "full_attention";
  MatrixView<const float> queries;  // L x d
  MatrixView<const float> keys;     // L x d
  MatrixView<const float> values;   // L x d
  // The queries of all heads that share the keys, this one's among them; empty if no other does.
  std::vector<MatrixView<const float>> group_queries;
  // Queries and keys before rotary positions and after any norm; empty if they equal `queries` and
  // `keys`.
  MatrixView<const float> unrotated_queries;
  MatrixView<const float> unrotated_keys;
  std::span<const int> tokens;  // L token ids; empty if the source has none
  // Positions of the head's sinks, ascending (docs/mathematics.md 7g). A source leaves it empty.
  // The scan fills it if a measure needs it, and sets `sinks_judged` if any key could be judged.
  std::span<const Index> sinks;
  bool sinks_judged = false;
  MatrixView<const float> scores;  // L x L, scaled and unmasked; replaces queries and keys
  Vectors x;                       // L vectors; SourceOptions::x chooses them
  Visibility visibility = Visibility::causal();
  // True for cross-attention: keys and values come from another text (the encoder's) of its own
  // length, and every query sees all keys. Distances from query to key mean nothing then.
  bool cross = false;
  float scale = 1.0f;    // logits are scale * <q, k>
  float softcap = 0.0f;  // c > 0 turns logits l into c tanh(l / c)
  // Position biases (ALiBi, T5): 2 L - 1 numbers. [L - 1 + j - i] is added to the logit of key j
  // for query i, after the soft-cap. Empty if there are none.
  std::span<const float> position_bias;
  // Turns logits into weights; null means the model's softmax.
  const Normalizer* normalizer = nullptr;
  HeadOutput* output = nullptr;  // wants the logits of all rows (begin_layer()); null if not needed
  // Normalizer and visibility before an intervention changed them; absent if none did.
  std::optional<OwnAttention> own;
  Index length() const { return scores.empty() ? queries.rows() : scores.rows(); }
  // Returns the number of keys for a context of `length` queries.
  Index key_count(Index length) const { return cross ? keys.rows() : length; }
};

// The source of the vectors x (docs/mathematics.md section 2, row conventions).
enum class XSource { embedding, hidden, value };

// The changes of an intervention in one head; null members keep the model's own.
struct HeadIntervention {
  std::shared_ptr<const Normalizer> normalizer;
  std::shared_ptr<const Pattern> pattern;
  // Sets normalizer and visibility of a head that has queries and keys, and saves the old ones in
  // HeadInput::own. `alike`: a head with the same visibility, if the pattern gives both one mask.
  void apply(HeadInput& head, const HeadInput* alike = nullptr) const;
  // Returns notices for readers of the numbers, for a context of `longest` tokens.
  std::vector<std::string> notices(const SourceInfo& source, Index longest) const;
  bool changes() const { return normalizer != nullptr || pattern != nullptr; }
  // Compares the pointers, not what the objects do.
  bool operator==(const HeadIntervention&) const = default;
};

// One value for each head of a model; empty if default-constructed.
template <class T>
class PerHead {
 public:
  PerHead() = default;
  PerHead(int layers, int heads, const T& value = T())
      : layers_(layers), heads_(heads), values_(Index{layers} * heads, value) {}
  int layers() const { return layers_; }
  int heads() const { return heads_; }
  bool empty() const { return values_.empty(); }
  T& operator()(Index layer, Index head) { return values_[place(layer, head)]; }
  const T& operator()(Index layer, Index head) const { return values_[place(layer, head)]; }
  // Visits every head, layer by layer: visit(int layer, int head, T& value).
  template <class Visit>
  void each(const Visit& visit) {
    for (int l = 0; l < layers_; ++l) {
      for (int h = 0; h < heads_; ++h) visit(l, h, (*this)(l, h));
    }
  }
  template <class Visit>
  void each(const Visit& visit) const {
    for (int l = 0; l < layers_; ++l) {
      for (int h = 0; h < heads_; ++h) visit(l, h, (*this)(l, h));
    }
  }
  // Iterate over the values, layer by layer.
  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }

 private:
  Index place(Index layer, Index head) const {
    assert(layer >= 0 && layer < layers_ && head >= 0 && head < heads_);
    return layer * heads_ + head;
  }

  int layers_ = 0;
  int heads_ = 0;
  std::vector<T> values_;
};

// One intervention for each head; empty if there are none.
using HeadInterventions = PerHead<HeadIntervention>;

// Sets HeadInput::group_queries of the heads of a layer, ascending by `head`, and applies the
// intervention of each. Every HeadSource calls it, also without interventions.
void intervene_in_layer(std::span<HeadInput> heads, const HeadInterventions& interventions,
                        ThreadPool& pool);

// Returns the first layer with a changed head, or the number of layers if no head is changed.
int first_changed_layer(const HeadInterventions& interventions);

// Throws UsageError unless there is one entry for each head of the source, or none at all.
void require_all_heads(const HeadInterventions& interventions, const SourceInfo& source);

// Says that the last tokens of a document are the answer of a task (docs/tasks.md).
struct MarkedAnswer {
  std::string task = {};  // the kind of task, such as "passkey"
  Index tokens = 0;       // number of tokens of the answer; 0: the document is a text
  Index distance = 0;     // tokens from the answer's first back to its source; 0: unknown
  // The document that is this one with its source; -1: this one has its source, or is a text.
  int control_of = -1;
};

// The properties of a source that are known before any layer is computed.
struct SourceInfo {
  std::string name;    // as the user typed it
  std::string family;  // "gpt2", "dump", ...
  int layers = 0;      // all layers of the model, including those without attention
  int heads = 0;
  int kv_heads = 0;
  Index head_dim = 0;
  Index x_dim = 0;       // dimension of the chosen x; 0 if unknown
  Index max_length = 0;  // longest context the source can give; 0 if any
  // Number of positions in training, for a model that accepts any position; 0 if unknown.
  Index trained_length = 0;
  bool causal = true;
  bool has_x = true;  // the chosen x is available
  bool has_values = true;
  bool has_loss = true;
  // Set if the model runs under another normalizer than its own: whether it is the scan's.
  std::optional<bool> runs_normalizer = {};
  bool has_tokens = false;       // HeadInput::tokens is set
  bool has_texts = false;        // HeadSource::token_texts() returns them
  std::vector<Index> documents;  // length of each document in tokens
  // The answer of each document; empty if no document has one.
  std::vector<MarkedAnswer> answers = {};
  // Layers of hybrid models that have no heads, ascending; layer() returns none for them.
  std::vector<int> without_attention = {};
  std::vector<std::string> layer_types;  // per layer
  std::vector<Index> windows;            // per layer; 0 if none
  Index value_dim = 0;                   // dimension of the values; 0 if equal to head_dim
  // True if the source also has the unrotated form of rotated queries and keys.
  bool has_unrotated = true;
  int element_bytes = 4;             // bytes of one stored number, also in a KV cache
  std::size_t bytes = 0;             // estimated peak memory
  std::vector<std::string> notices;  // notices for readers of the numbers
  bool has_attention(int layer) const;
  // Returns whether the document is a text, and has no answer.
  bool is_text(Index document) const;
  // Returns whether there is a text.
  bool has_text() const;
  // Returns whether the document is a case without its source, on which only the unchanged model is
  // measured.
  bool is_control(Index document) const;
  // Returns whether heads are measured on the document: they are measured on the texts or, if there
  // is none, on the cases of tasks, but on no control.
  bool is_measured(Index document) const;
  // Returns the length of each document, 0 if heads are not measured on it.
  std::vector<Index> measured_lengths() const;
  // Returns the number of tokens of a document that next_tokens() predicts: all after the first or,
  // if it has an answer, those of the answer.
  Index predicted(Index document) const;
  // Returns the layers that have heads; results without a selection cover these.
  std::vector<int> attention_layers() const;
  // Returns how many of these layers come before `layer`: its place along the dim "layer" of
  // results without a selection.
  Index attention_layers_before(int layer) const;
  // Returns the layers without a window of the model's own that is shorter than `length`, in the
  // form of ScanOptions::layers, if other layers have one; else an empty text.
  std::string layers_without_window(Index length) const;
};

// Says that only these layers are changed, unless the option asks for all.
std::string kept_windows_notice(const SourceInfo& source, const std::string& layers,
                                const char* option);

// Returns the notice about layers without attention; empty if every layer has attention.
std::string without_attention_notice(const SourceInfo& source);

// Returns some queries of a document, ascending.
using QueriesOfDocument = std::function<std::vector<Index>(int document)>;

// Next-token predictions of a model in one document of L tokens. If the document has an answer of n
// tokens, t = L-n..L-1 alone.
struct NextTokens {
  std::vector<double> losses;  // -log p(x_{t+1} | x_1..x_t), t = 1..L-1, nats; empty: not known
  // 1 if x_{t+1} is the most likely token, t = 1..L-1; a token as likely as the best counts.
  std::vector<std::uint8_t> right = {};
  // The most likely token x_{t+1}, t = 1..L-1; of equally likely ones the lowest id.
  std::vector<int> likeliest = {};
  // KL(reference || this) of the next token at t = 1..L, nats; empty without a reference and for a
  // document with an answer.
  std::vector<double> divergence = {};
  // For a model without a loss: the distance between the last hidden state of each token and the
  // reference's, relative to the norm of the reference's. Empty without a reference.
  std::vector<double> output_change = {};
};

// The predictions of a model for all documents.
using Predictions = std::vector<NextTokens>;

// Yields layers of heads. layer(l, d) is called for l = 0, 1, ... and, within a layer, for every
// document d in turn. It returns the heads of the layer, ascending by `head`, and none for a layer
// without attention. The returned views stay valid until the next call.
class HeadSource {
 public:
  virtual ~HeadSource() = default;
  virtual const SourceInfo& info() const = 0;
  // Adds what else is known about the model and the text to Results::model and Results::text.
  virtual void describe(Results& results) const { static_cast<void>(results); }
  virtual std::span<const HeadInput> layer(int layer, int document) = 0;
  // Does what layer() does, for a caller that computes logits anyway. The caller may pass them to
  // HeadInput::output until it calls finish_layer(), which computes the logits of heads that did
  // not get all rows. The numbers are the same as with layer(). The default calls layer() and wants
  // no logits.
  virtual std::span<const HeadInput> begin_layer(int layer, int document) {
    return this->layer(layer, document);
  }
  virtual void finish_layer() {}
  // Returns the text of each token in the present context of a document, in order, or the tokens'
  // ids if the text is not known. The default returns nothing: neither is known.
  virtual std::vector<std::string> token_texts(int document) const {
    static_cast<void>(document);
    return {};
  }
  // Returns the ids of the tokens in the present context of a document. The default returns
  // nothing: the source knows none.
  virtual std::vector<int> token_ids(int document) const {
    static_cast<void>(document);
    return {};
  }
  // Applies `interventions` to the heads from now on and starts layer() again at layer 0. The
  // default throws UnsupportedError if there are any. A source that supports them throws UsageError
  // unless there is one for each of its heads (require_all_heads()).
  virtual void intervene(const HeadInterventions& interventions);
  // Sets the queries that will be read until the next call; null means all. A source may leave the
  // others unset. The default does nothing.
  virtual void look_at(const QueriesOfDocument& queries) { static_cast<void>(queries); }
  // Cuts every document to a context of that length from now on and starts layer() again at layer
  // 0; shorter documents yield no heads. Vectors::key starts anew; info() does not change. Only for
  // sources that are not causal, where every length needs its own pass. The default throws
  // UnsupportedError if a document is longer.
  virtual void set_context(Index length);
  // Save and restore the state from which the next layer of a document is computed. state() returns
  // its memory. begin_at() makes room for the state before `layer`, and the caller then fills
  // state(). The default has no state and returns false.
  virtual std::span<std::byte> state(int document) {
    static_cast<void>(document);
    return {};
  }
  virtual bool begin_at(int layer, int document) {
    static_cast<void>(layer);
    static_cast<void>(document);
    return false;
  }
  // Returns the predictions of the last finished pass. The default knows none.
  virtual NextTokens next_tokens(int document) {
    static_cast<void>(document);
    return {};
  }
};

}  // namespace headgauge
