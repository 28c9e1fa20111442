// What an analysis sees: one head's tensors (HeadInput), which keys a query may look at
// (Visibility), scores of a block of queries (RowBlock), and the two interfaces between which
// everything is plugged in: HeadSource and Measure.
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

namespace headgauge {

class Pattern;
struct Results;
struct SourceInfo;

// The keys [begin, end) that a query sees.
struct KeyRange {
  Index begin = 0;
  Index end = 0;
  Index size() const { return end - begin; }
};

// The keys that a sparse pattern leaves visible to the queries of one head (patterns.hpp).
class KeyMask {
 public:
  virtual ~KeyMask() = default;
  // What errors call it.
  virtual std::string name() const { return "the mask"; }
  // Whether select() looks at the logits.
  virtual bool needs_logits() const { return false; }
  // Replaces `keys` by the keys of `range` that `query` sees, ascending. `logits` are those of the
  // keys of `range`, in order; they may be empty unless needs_logits(). Safe to call from several
  // threads.
  virtual void select(Index query, KeyRange range, std::span<const float> logits,
                      std::vector<std::uint32_t>& keys) const = 0;
};

// Which keys a query sees. Query and key positions are 0-based positions in the document.
class Visibility {
 public:
  enum class Kind { full, causal, sliding_window };
  static Visibility full() { return Visibility(Kind::full, 0); }
  static Visibility causal() { return Visibility(Kind::causal, 0); }
  // Causal, and no further back than `window` keys, the query's own included.
  static Visibility sliding_window(Index window) {
    return Visibility(Kind::sliding_window, window);
  }
  // The same range, of which `mask` leaves some of the keys visible.
  Visibility masked(std::shared_ptr<const KeyMask> mask) const {
    Visibility visibility = *this;
    visibility.mask_ = std::move(mask);
    return visibility;
  }
  Kind kind() const { return kind_; }
  Index window() const { return window_; }
  // What hides some of the keys of range(); null: nothing.
  const KeyMask* mask() const { return mask_.get(); }
  // The visible keys as one range, the mask left aside.
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

// The vectors x_i that distances are measured between. Vector i is rows[row_of[i]], or rows[i]
// where row_of is empty; repeated tokens share a row. Two inputs with the same non-zero `key`
// hold the same vectors (so that what is derived from them can be shared between heads).
struct Vectors {
  MatrixView<const float> rows;           // distinct vectors x d
  std::span<const std::uint32_t> row_of;  // position -> row
  std::uint64_t key = 0;
  bool empty() const { return rows.empty(); }
  Index dimension() const { return rows.cols(); }
  Index size() const { return row_of.empty() ? rows.rows() : std::ssize(row_of); }
  Index row_index(Index i) const { return row_of.empty() ? i : row_of[i]; }
  std::span<const float> operator[](Index i) const { return rows.row(row_index(i)); }
};

// How a head attends where nothing changes it.
struct OwnAttention {
  const Normalizer* normalizer = nullptr;  // null: the model's softmax
  Visibility visibility = Visibility::causal();
};

// Makes what a head puts out of the logits of its rows, so that who scores them for its own ends
// has them scored once for both.
class HeadOutput {
 public:
  virtual ~HeadOutput() = default;
  // Takes the logits of the queries from `first` on, each once in all: rows x keys from the first
  // one on, as far as one of the rows sees, with soft-cap and biases by position, whatever mask
  // and normalizer are. Safe to call from several threads.
  virtual void add(Index first, MatrixView<const float> logits) = 0;
};

// All that an analysis of one head may look at. Views are owned by the HeadSource. A tensor that
// the source does not have is an empty view.
struct HeadInput {
  int layer = 0;
  int head = 0;
  int kv_head = 0;
  int document = 0;
  std::string layer_type = "full_attention";
  MatrixView<const float> queries;  // L x d
  MatrixView<const float> keys;     // L x d
  MatrixView<const float> values;   // L x d
  // Before rotary positions and after any norm of queries and keys; empty: the same as those.
  MatrixView<const float> unrotated_queries;
  MatrixView<const float> unrotated_keys;
  std::span<const int> tokens;  // L token ids; empty: the source has none
  // Positions of its sinks, ascending (docs/mathematics.md 7g). A source leaves it empty: the scan
  // finds them where a measure asks for them, and says whether any key could be judged.
  std::span<const Index> sinks;
  bool sinks_judged = false;
  MatrixView<const float> scores;  // L x L, scaled and unmasked: in place of queries and keys
  Vectors x;                       // L vectors, as chosen by SourceOptions::x
  Visibility visibility = Visibility::causal();
  // Keys and values are of another text (an encoder's), of a length of its own, and every query
  // sees all of them: distances from query to key mean nothing.
  bool cross = false;
  float scale = 1.0f;    // logits are scale * <q, k>
  float softcap = 0.0f;  // c > 0: logits become c tanh(l / c)
  // 2 L - 1 numbers, of which [L - 1 + j - i] is added to the logit of key j for query i, after the
  // soft-cap (biases by position: ALiBi, T5); empty: nothing is added.
  std::span<const float> position_bias;
  // Turns logits into weights where that was changed (compare); null: the model's softmax.
  const Normalizer* normalizer = nullptr;
  HeadOutput* output = nullptr;  // asks for the logits of all rows (begin_layer()); null: nobody
  // What normalizer and visibility were before an intervention changed them; absent: none did.
  std::optional<OwnAttention> own;
  Index length() const { return scores.empty() ? queries.rows() : scores.rows(); }
  // The keys of a context of `length` queries.
  Index key_count(Index length) const { return cross ? keys.rows() : length; }
};

// Where the vectors x come from (docs/mathematics.md section 2, row conventions).
enum class XSource { embedding, hidden, value };

// What a head's attention is changed for; null: as the model has it.
struct HeadIntervention {
  std::shared_ptr<const Normalizer> normalizer;
  std::shared_ptr<const Pattern> pattern;
  // Sets normalizer and visibility of a head whose queries and keys are there, and remembers what
  // they were (HeadInput::own).
  void apply(HeadInput& head) const;
  // What a reader of the numbers must know, at a context of `longest` tokens.
  std::vector<std::string> notices(const SourceInfo& source, Index longest) const;
  bool changes() const { return normalizer != nullptr || pattern != nullptr; }
  // The same objects, not objects that do the same.
  bool operator==(const HeadIntervention&) const = default;
};

// A value for each head of a model; empty where it is of no model.
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
  // The values alone, layer by layer.
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

// Empty: no intervention.
using HeadInterventions = PerHead<HeadIntervention>;

// The first layer that has a head which is changed; the number of layers where none has.
int first_changed_layer(const HeadInterventions& interventions);

// Throws UsageError unless there is an entry for each head of the source, or none at all.
void require_all_heads(const HeadInterventions& interventions, const SourceInfo& source);

// What a source knows before any layer is computed.
struct SourceInfo {
  std::string name;    // as the user named it
  std::string family;  // "gpt2", "dump", ...
  int layers = 0;      // of the model, those without attention included
  int heads = 0;
  int kv_heads = 0;
  Index head_dim = 0;
  Index x_dim = 0;       // dimension of x as asked for; 0: not known
  Index max_length = 0;  // longest context the source can give; 0: any
  // Positions that a model was trained on whose positions have no end; 0: not known.
  Index trained_length = 0;
  bool causal = true;
  bool has_x = true;  // x as asked for is there
  bool has_values = true;
  bool has_loss = true;
  bool has_tokens = false;       // HeadInput::tokens is there
  bool has_texts = false;        // HeadSource::token_texts() gives them
  std::vector<Index> documents;  // length of each document in tokens
  // Layers that have no heads (of hybrid models), ascending: layer() gives none there.
  std::vector<int> without_attention = {};
  std::vector<std::string> layer_types;  // per layer
  std::vector<Index> windows;            // per layer; 0 = none
  Index value_dim = 0;                   // of the values; 0: as head_dim
  // Of rotated queries and keys the source has the ones before the rotation, too.
  bool has_unrotated = true;
  int element_bytes = 4;             // of a number as it is stored: of a KV cache too
  std::size_t bytes = 0;             // memory that it will hold at its peak, estimated
  std::vector<std::string> notices;  // what a reader of the numbers must know
  bool has_attention(int layer) const;
  // The layers that have heads: those of which results speak where all are measured.
  std::vector<int> attention_layers() const;
  // How many of these come before `layer`: its place along the dim "layer" of such results.
  Index attention_layers_before(int layer) const;
};

// What a reader is told of the layers without attention; empty: there are none.
std::string without_attention_notice(const SourceInfo& source);

// Some queries of a document, ascending.
using QueriesOfDocument = std::function<std::vector<Index>(int document)>;

// Yields layers of heads. layer(l, d) is called for l = 0, 1, ... and, within a layer, for every
// document d in turn: the heads of the layer, ascending by `head`; none of a layer without
// attention. The views it returns stay valid until the next call.
class HeadSource {
 public:
  virtual ~HeadSource() = default;
  virtual const SourceInfo& info() const = 0;
  // Adds what else is known of the model and of the text to Results::model and Results::text.
  virtual void describe(Results& results) const { static_cast<void>(results); }
  virtual std::span<const HeadInput> layer(int layer, int document) = 0;
  // Does what layer() does, for a caller that scores rows anyway: until finish_layer() it waits for
  // the logits that HeadInput::output asks for, and then scores the heads itself of which it did
  // not get all rows. The numbers are the same. By default layer(), and nothing is asked for.
  virtual std::span<const HeadInput> begin_layer(int layer, int document) {
    return this->layer(layer, document);
  }
  virtual void finish_layer() {}
  // The text of each token of the present context of a document, which is what the tokens stand
  // for, one after the other; their ids where the text is not known. By default empty: neither is.
  virtual std::vector<std::string> token_texts(int document) const {
    static_cast<void>(document);
    return {};
  }
  // Heads attend as `interventions` says from now on, and layer() begins again at layer 0. By
  // default UnsupportedError where there are interventions. A source that knows them throws
  // UsageError unless they are those of all its heads (require_all_heads()).
  virtual void intervene(const HeadInterventions& interventions);
  // The queries that will be looked at from now on, until the next call; null: all of them. A
  // source may leave the others unset. By default nothing changes.
  virtual void look_at(const QueriesOfDocument& queries) { static_cast<void>(queries); }
  // Every document is cut to a context of that length from now on, and layer() begins again at
  // layer 0; of shorter documents it gives no heads. What the vectors x are keyed by begins anew,
  // info() stays as it is. For sources that are not causal, where every length is a pass of its
  // own. By default UnsupportedError unless no document is longer.
  virtual void set_context(Index length);
  // What the next layer of a document is computed from, so that it may be kept and put back: after
  // begin_at(), which makes room for that of before `layer`, a caller fills state(). By default
  // there is none, and false.
  virtual std::span<std::byte> state(int document) {
    static_cast<void>(document);
    return {};
  }
  virtual bool begin_at(int layer, int document) {
    static_cast<void>(layer);
    static_cast<void>(document);
    return false;
  }
  // -log p(x_{t+1} | x_1..x_t) in nats for t = 1..L-1, once all layers are done; empty if the
  // source does not know.
  virtual std::vector<double> token_losses(int document) = 0;
};

}  // namespace headgauge
