// The model and the texts of a run, and the documents that they give.
#pragma once

#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "headgauge/session.hpp"

namespace headgauge {

struct Input {
  Model model;
  Texts texts;
  std::stop_token stop = {};      // ends the waiting for a text that is a pipe
  std::vector<int> lengths = {};  // empty: auto
  XSource x = XSource::embedding;
  int threads = 0;
  bool with_texts = false;  // keeps the text of each token
  bool read_again = false;  // the run reads its texts more than once
  bool in_part = false;     // the process measures some of the documents
  // For messages: the run, and what to do in place of giving lengths.
  std::string asked_by = "scan";
  std::string auto_advice = "use ScanOptions::lengths = auto";

  // Takes what the source is opened with from the options of a scan.
  void take(const ScanOptions& scan);
  // The same model with other texts.
  Input with(Texts others) const;
};

// What a run without texts is said to have.
inline constexpr const char* kNoTexts = "neither text_files() nor token_files()";
// What gives texts of that kind, for messages.
const char* option_of(const Texts& texts);

// Opens the model or dump with its documents, cut to the longest length asked for.
std::shared_ptr<HeadSource> open_source(const Input& input);

// The same, and the whole texts to cut into pieces; `cut` is empty for a model with its own
// queries, which has no texts.
struct OpenedText {
  std::shared_ptr<HeadSource> source;
  CutText cut;
};
OpenedText open_text(const Input& input);

// Read the texts as token ids, whole or cut to the longest length asked for. Throw as open_source()
// does.
std::vector<Document> load_whole_documents(const Input& input);
std::vector<Document> load_documents(const Input& input);

// Opens the model with these documents.
std::unique_ptr<HeadSource> open_documents(const Input& input, std::vector<Document> documents);

// Cuts at most `most` pieces of `tokens` tokens from each document, spread over it. Each has what
// the tokenizer puts around a text.
std::vector<Document> spread_pieces(const std::vector<Document>& documents, Index tokens,
                                    std::size_t most);

// Throws UnsupportedError where the model has no loss, being a dump or heads alone.
void require_checkpoint(const Input& input, const std::string& run);

// The longest context that auto takes.
Index longest_auto(const ModelSummary& model);

// Returns whether some document of either has 64 tokens in a row, or all of a shorter one, in
// common with one of the other.
bool share_tokens(std::span<const Document> a, std::span<const Document> b);

// Throws UsageError, which names the option, where two of the documents do.
void require_apart(const std::vector<Document>& documents, const std::string& option);

}  // namespace headgauge
