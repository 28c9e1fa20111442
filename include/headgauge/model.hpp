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
  std::string sha256;     // checksum of its file
  std::size_t total = 0;  // tokens of the whole text, if `tokens` holds only the first of them
  bool goes_on = false;   // the text was not tokenised to its end, so `total` is unknown
  // The special tokens that the tokenizer adds around every text ([CLS] and [SEP]). They are not
  // part of `tokens`; empty if the document was given as ids.
  std::vector<int> before = {};
  std::vector<int> after = {};
  std::size_t first = 0;  // index in the whole text of the first of `tokens`
  // The text of each token: before, tokens and after; empty: unknown.
  std::vector<std::string> texts = {};

  // The last of `tokens` may be the answer of a task.
  MarkedAnswer answer = {};

  // Reads the document again if its ids were released: `tokens` is empty then, and `released` is
  // their number. Empty if the ids are held.
  std::function<Document()> read_again = {};
  std::size_t released = 0;

  // Returns whether all held ids are valid for this vocabulary size.
  bool has_ids_below(Index vocabulary) const;
  bool holds_tokens() const { return read_again == nullptr; }
  std::size_t size() const {
    return before.size() + (holds_tokens() ? tokens.size() : released) + after.size();
  }
  // Release the ids, and hold them again.
  void release(std::function<Document()> read);
  void hold(std::vector<int> ids);
  // Returns the ids of a context of `length`, at most size(): before, the first tokens, after.
  // Throws BadInputError if the special tokens do not fit, or if the text changed when read again.
  std::vector<int> context(Index length) const;
  // Throws if the special tokens do not fit.
  void require_room(Index length) const;
  std::vector<int> tokens_read_again() const;
  // Returns the text of each token of the context or, if unknown, its id.
  std::vector<std::string> context_texts(Index length) const;
  // Drops tokens at the end until at most `length` remain, including the special tokens.
  void cut(std::size_t length);
};

// Returns the answers of the documents for SourceInfo::answers.
std::vector<MarkedAnswer> answers_of(std::span<const Document> documents);
// Adds names, sums and sizes of the documents that `source` measures to Results::text, and the
// number of cases of each task.
void describe_documents(std::span<const Document> documents, const SourceInfo& source,
                        Results& results);

// Reads a UTF-8 text as a document: its ids from the tokenizer, with the special tokens around it.
// Special tokens after the text of a causal model count as tokens of the text and are dropped if it
// is cut, because a text that is cut has not ended. `with_texts` fills Document::texts. The path
// may name a pipe, which is read to its end; a stop requested meanwhile throws InterruptedError. If
// only the first `most` tokens are needed (0: all), a long text is tokenised only that far
// (docs/formats.md, "Texts and token ids"), and memory does not grow with the text. Throws
// BadInputError as read_text_file() and Tokenizer::encode() do, ResourceError if the tokenizer runs
// out of memory.
Document read_document(const std::string& path, const Tokenizer& tokenizer, bool causal,
                       bool with_texts = false, const std::stop_token& stop = {},
                       std::size_t most = 0);
// Does the same for a text in memory, which errors call `name`.
Document parse_document(std::string_view text, const std::string& name, const Tokenizer& tokenizer,
                        bool causal, bool with_texts = false, std::size_t most = 0);
// Makes a document from ids. Its checksum is that of a file with one id per line; BadInputError if
// there are none.
Document make_document(std::vector<int> ids, const std::string& name);
// Makes a document of a case of a task: a prompt, then its answer, which `answer` describes without
// its number of tokens. Throws BadInputError if one of them is empty.
Document make_case(std::vector<int> prompt, std::span<const int> answered, MarkedAnswer answer,
                   const std::string& name);
// Reads a file of token ids as a document; throws BadInputError as read_token_ids() does.
Document read_ids(const std::string& path, const std::stop_token& stop = {});

struct SourceOptions {
  XSource x = XSource::embedding;
  int threads = 0;  // 0: one per core
  // Bytes that try_interventions() may use to hold residual streams of variants.
  std::size_t variant_bytes = std::size_t{512} << 20;
  // Bytes of memory for the hidden states of several documents. Beyond that, all except the current
  // document's go to a temporary file. 0: as much as memory allows.
  std::size_t stream_bytes = 0;
};

// An intervention for each head of one layer.
using LayerInterventions = std::vector<HeadIntervention>;

// What gradients() differentiates.
struct Differentiated {
  // Returns the weight of each loss of a document in the sum.
  std::function<std::vector<double>(int document, const NextTokens&)> weigh;
  bool by_residual = false;                    // also by the input of each layer
  std::function<void()> before_layer = [] {};  // may throw, which ends the pass
};

// Heads that mix the outputs of several choices: the output of a head is the sum over choices of
// gate times output under the choice.
struct GatedHeads {
  std::vector<HeadIntervention> choices;
  PerHead<std::vector<double>> gates;  // by choice
};

// The gradients of a document's weighted losses.
struct Gradients {
  NextTokens next;                      // under the gates
  PerHead<std::vector<double>> gates;   // by gate
  std::vector<Matrix<float>> residual;  // by the input of each layer (L x D); only if asked for
};

// A model with a forward pass of its own whose attention can be changed.
class ModelSource : public HeadSource {
 public:
  // Keeps the residual stream that enters `layer` when it is next computed; passes that change only
  // this and later layers then start there instead of at layer 0. Layer 0: nothing is kept.
  virtual void keep_entering(int layer) = 0;
  // Returns the layer at which the pass starts after intervene().
  virtual int first_layer() const = 0;
  // Makes the last finished pass the reference of every divergence and output change;
  // set_context() removes it.
  virtual void set_reference() = 0;
  // Runs the documents under gates, and back (docs/mathematics.md 7f): returns the gradients of
  // the weighted losses of each document. If all weights are 0, there is no way back. The heads
  // that layer() returned are gone. A model in Python has no gradients by residual. Throws
  // UnsupportedError, which names it, for a choice without a derivative.
  virtual std::vector<Gradients> gradients(std::span<const int> documents, const GatedHeads& heads,
                                           const Differentiated& what) = 0;
  // Returns the predictions of the model with the heads of one layer changed, for each entry of
  // `variants` separately. Must be called right after layer(layer, document). The heads of later
  // layers keep the interventions of intervene(). The pass then continues unaffected, except that
  // the heads that layer() returned are gone.
  virtual std::vector<NextTokens> try_interventions(
      int layer, int document, std::span<const LayerInterventions> variants) = 0;
};

// Throws UnsupportedError, which names it, for a rule that ModelSource::gradients() cannot
// differentiate.
void require_derivative(const Normalizer& rule);

// Runs a checkpoint over documents. Cuts every document to the model's longest context. Throws
// UnsupportedError for an unknown family, BadInputError if config, tensors or token ids are
// inconsistent.
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

// Properties of a model, read from its config without computing anything.
struct ModelSummary {
  std::string family;
  int layers = 0;
  int heads = 0;
  int kv_heads = 0;
  Index head_dim = 0;
  Index width = 0;
  Index vocabulary = 0;
  Index positions = 0;       // longest context; 0: unlimited
  Index trained_length = 0;  // if unlimited: the context length in training
  std::int64_t parameters = 0;
  std::string activation;           // as config.json names it
  bool causal = true;               // a query sees no key after it
  bool scaled_by_dimension = true;  // scores are divided by sqrt(head_dim)
  Index scaled_by = 0;              // or by the square root of this number, if it is not 0
  bool scaled_by_layer = false;     // and by the layer's number, counted from 1
  std::string rope;                 // rotary positions and their scaling; empty: none
  std::vector<Index> windows;  // sliding window of each layer, 0: none; empty: no layer has one
  double score_cap = 0;        // soft-cap of the scores; 0: none
  double logit_cap = 0;        // soft-cap of the next-token logits; 0: none
  std::string prefix;          // prefix of the tensor names
};
ModelSummary summarize_model(const Checkpoint& checkpoint);

}  // namespace headgauge
