// The model and the texts of a run, and the documents made from them.
#pragma once

#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "headgauge/session.hpp"
#include "session/cases.hpp"

namespace headgauge {

struct Input {
  Model model;
  Texts texts;
  Cases cases = {};               // of tasks, which are measured beside the texts
  std::stop_token stop = {};      // ends the wait for a text that is a pipe
  std::vector<int> lengths = {};  // empty: auto
  XSource x = XSource::embedding;
  int threads = 0;
  bool with_texts = false;  // keeps the text of each token
  bool read_again = false;  // the run reads its texts more than once
  bool in_part = false;     // the process measures some of the documents
  // Parts of messages: the run, and the alternative to giving lengths.
  std::string asked_by = "scan";
  std::string auto_advice = "use ScanOptions::lengths = auto";

  // Takes the options of a scan that open the source.
  void take(const ScanOptions& scan);
  // Returns the same model with other texts and no cases.
  Input with(Texts others) const;
};

// Messages report this as found if a run has no texts.
inline constexpr const char* kNoTexts = "neither text_files() nor token_files()";
// Returns the name of the option for texts of that kind, for messages.
const char* option_of(const Texts& texts);

// Opens the model or dump with its documents, cut to the longest requested length.
std::shared_ptr<HeadSource> open_source(const Input& input);

// The opened source, and the whole texts to cut into pieces; `cut` is empty for a model with its
// own queries, which has no texts.
struct OpenedText {
  std::shared_ptr<HeadSource> source;
  CutText cut;
};
OpenedText open_text(const Input& input);

// Read the texts as token ids, whole or cut to the longest requested length. Throw as open_source()
// does.
std::vector<Document> load_whole_documents(const Input& input);
std::vector<Document> load_documents(const Input& input);

// Opens the model with these documents.
std::unique_ptr<HeadSource> open_documents(const Input& input, std::vector<Document> documents);

// Cuts at most `most` pieces of `tokens` tokens from each document, evenly spaced. Each has the
// special tokens that the tokenizer adds to a text.
std::vector<Document> spread_pieces(const std::vector<Document>& documents, Index tokens,
                                    std::size_t most);

// Throws UnsupportedError for a dump or heads alone, which have no loss.
void require_checkpoint(const Input& input, const std::string& run);

// Returns the longest context that auto chooses.
Index longest_auto(const ModelSummary& model);

// Returns whether a document of `a` and one of `b` have 64 consecutive tokens in common, or all
// tokens of a shorter document.
bool share_tokens(std::span<const Document> a, std::span<const Document> b);

// Throws UsageError, which names the option, if two of the documents share tokens in that sense.
void require_apart(const std::vector<Document>& documents, const std::string& option);

}  // namespace headgauge
