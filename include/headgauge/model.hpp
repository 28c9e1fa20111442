// Sources of heads: a checkpoint run by headgauge's own forward pass, or a file of dumped tensors.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "headgauge/base.hpp"
#include "headgauge/checkpoint.hpp"
#include "headgauge/heads.hpp"
#include "headgauge/tokenize.hpp"

namespace headgauge {

// A text as token ids.
struct Document {
  std::string name;
  std::vector<int> tokens;
  std::string sha256;     // of the file it came from
  std::size_t total = 0;  // tokens of the whole text, where `tokens` are the first of more
  bool goes_on = false;   // the text was not tokenised to its end: `total` is not known
  // The special tokens that the tokenizer puts around every text ([CLS] and [SEP]), which are not
  // among `tokens`; empty where ids were given.
  std::vector<int> before = {};
  std::vector<int> after = {};
  std::size_t first = 0;  // token of the whole text that `tokens` begin with
  // What each token stands for, of before, tokens and after; empty: not known.
  std::vector<std::string> texts = {};

  // What reads the document again where its ids are not held: `tokens` is empty then, and stands
  // for `released` ids. Empty: they are held.
  std::function<Document()> read_again = {};
  std::size_t released = 0;

  // Whether all ids that are held are those of a model of so many.
  bool has_ids_below(Index vocabulary) const;
  bool holds_tokens() const { return read_again == nullptr; }
  std::size_t size() const {
    return before.size() + (holds_tokens() ? tokens.size() : released) + after.size();
  }
  // Holds the ids no longer; holds them again.
  void release(std::function<Document()> read);
  void hold(std::vector<int> ids);
  // The ids of a context of `length`, at most size(): before, the first tokens, after.
  // BadInputError where it has no room for what stands around the text, or the text that is read
  // again is another one.
  std::vector<int> context(Index length) const;
  // Throws where context() has no room.
  void require_room(Index length) const;
  std::vector<int> tokens_read_again() const;
  // What each token of such a context stands for: its text or, where that is not known, its id.
  std::vector<std::string> context_texts(Index length) const;
  // Drops tokens at the end until no more than `length` are left with what stands around them.
  void cut(std::size_t length);
};

// Adds names, sums and sizes of the documents to Results::text.
void describe_documents(std::span<const Document> documents, Results& results);

// Reads a UTF-8 text as a document: its ids as the tokenizer gives them, with what that puts around
// a text. Of a causal model what stands after it is one token more of the text, for a text that is
// cut has not ended. `with_texts` fills Document::texts too. The path may name a pipe, which is
// read until it ends; a stop that is asked for meanwhile is an InterruptedError. Where no more than
// the first `most` tokens are asked for (0: all), a long text is tokenised no further than they
// need (docs/formats.md, "Texts and token ids"), and the memory does not grow with it. Throws
// BadInputError as read_text_file() and Tokenizer::encode() do, ResourceError where the memory does
// not suffice for the tokenizer.
Document read_document(const std::string& path, const Tokenizer& tokenizer, bool causal,
                       bool with_texts = false, const std::stop_token& stop = {},
                       std::size_t most = 0);
// The same of a text in memory, which errors call `name`.
Document parse_document(std::string_view text, const std::string& name, const Tokenizer& tokenizer,
                        bool causal, bool with_texts = false, std::size_t most = 0);
// A document of these ids, whose sum is that of a file with one on each line; BadInputError where
// there are none.
Document make_document(std::vector<int> ids, const std::string& name);
// Reads a file of token ids as a document; throws BadInputError as read_token_ids() does.
Document read_ids(const std::string& path, const std::stop_token& stop = {});

struct SourceOptions {
  XSource x = XSource::embedding;
  int threads = 0;  // 0: as many as there are cores
  // Residual streams of variants that try_interventions() holds at a time.
  std::size_t variant_bytes = std::size_t{512} << 20;
  // Hidden states of several documents that are held in memory at a time: beyond that, all but the
  // present document's wait in a temporary file. 0: as many as there is memory for.
  std::size_t stream_bytes = 0;
};

// What a model says of the tokens that follow in one document of L tokens.
struct NextTokens {
  std::vector<double> losses;      // -log p(x_{t+1} | x_1..x_t), t = 1..L-1, nats
  std::vector<double> divergence;  // KL(reference || this) of the next token at t = 1..L, nats
  // Of a model without a loss: how far the last hidden state of each token is from the reference's,
  // relative to the length of that one. Empty without a reference.
  std::vector<double> output_change;
};

// An intervention for each head of one layer.
using LayerInterventions = std::vector<HeadIntervention>;

// A model with a forward pass of its own, in which attention can be changed.
class ModelSource : public HeadSource {
 public:
  // The residual stream that enters `layer` is kept when it is next computed; interventions of that
  // layer and later ones then begin again there, not at layer 0. Layer 0: nothing is kept.
  virtual void keep_entering(int layer) = 0;
  // Where layer() goes on after intervene().
  virtual int first_layer() const = 0;
  // Makes the pass that was just finished the reference of every divergence and output change.
  virtual void set_reference() = 0;
  // set_context() forgets it.
  virtual bool has_reference() const = 0;
  // Of the pass that was just finished.
  virtual NextTokens next_tokens(int document) = 0;
  // Called right after layer(layer, document): what the model would say if the heads of that one
  // layer attended as an entry of `variants` says, for each entry by itself. The heads of later
  // layers attend as intervene() said. The pass goes on as if nothing had been asked, but for the
  // heads that layer() gave: they are gone.
  virtual std::vector<NextTokens> try_interventions(
      int layer, int document, std::span<const LayerInterventions> variants) = 0;
};

// Runs a checkpoint over documents: the families are those of model_families(). Every document is
// cut to the model's longest context. Throws UnsupportedError for an unknown family,
// BadInputError where config, tensors or token ids do not fit together.
std::unique_ptr<ModelSource> make_model_source(Checkpoint checkpoint,
                                               std::vector<Document> documents,
                                               const SourceOptions& options);
// Opens the checkpoint first.
std::unique_ptr<ModelSource> make_model_source(const ResolvedModel& model,
                                               std::vector<Document> documents,
                                               const SourceOptions& options);

// Reads a dump file (docs/formats.md). x = embedding and hidden both mean the dump's x.
std::unique_ptr<HeadSource> make_dump_source(const ResolvedModel& model,
                                             const SourceOptions& options);

// What a checkpoint's config says, without computing anything.
struct ModelSummary {
  std::string family;
  int layers = 0;
  int heads = 0;
  int kv_heads = 0;
  Index head_dim = 0;
  Index width = 0;
  Index vocabulary = 0;
  Index positions = 0;       // longest context; 0: positions have no end
  Index trained_length = 0;  // where they have none: what the model was trained on
  std::int64_t parameters = 0;
  std::string activation;           // as config.json names it
  bool causal = true;               // a query sees no key after it
  bool scaled_by_dimension = true;  // scores are divided by sqrt(head_dim)
  Index scaled_by = 0;              // or by the root of this, where it is not 0
  bool scaled_by_layer = false;     // and by the layer's number, from 1
  std::string rope;                 // rotary positions and their scaling; empty: none
  std::vector<Index> windows;  // sliding window of each layer, 0: none; empty: no layer has one
  double score_cap = 0;        // soft-cap of the scores; 0: none
  double logit_cap = 0;        // and of the logits of the next token
  std::string prefix;          // before the names of the tensors
};
ModelSummary summarize_model(const Checkpoint& checkpoint);

// Lists the model_type values that make_model_source knows.
std::vector<std::string> model_families();

}  // namespace headgauge
