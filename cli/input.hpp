// The options that every command on a model and a text shares, and what they load.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "headgauge/heads.hpp"
#include "headgauge/model.hpp"
#include "headgauge/options.hpp"
#include "headgauge/reproduce.hpp"
#include "headgauge/scan.hpp"

namespace headgauge::cli {

struct InputOptions {
  std::string model;
  std::vector<std::string> texts;
  std::vector<std::string> tokens;
  // Of the command's own options, once they are read.
  std::vector<int> lengths;  // empty: auto
  XSource x = XSource::embedding;
  int threads = 0;
  bool with_texts = false;  // what each token stands for is kept
  // For messages: the command, and what to do in place of giving lengths.
  std::string asked_by = "scan";
  std::string auto_advice = "use --lengths auto";

  bool read_again = false;  // the command reads its texts more than once
  bool in_part = false;     // the process measures some of the documents
  std::stop_token stop;     // ends the waiting for a text that is a pipe

  // MODEL; and --text and --tokens.
  void add_model(CLI::App& command);
  void add_to(CLI::App& command);
  // Takes what the source is opened with from the options of a scan.
  void take(const ScanOptions& scan);
  bool has_text() const { return !texts.empty() || !tokens.empty(); }
};

std::vector<Option> options_of(InputOptions& options);

// The model or dump with its documents, cut to the longest length asked for.
std::unique_ptr<HeadSource> open_source(const InputOptions& options);

// The same, and the whole texts to cut into pieces; empty for a dump, which has none.
struct OpenedText {
  std::unique_ptr<HeadSource> source;
  CutText cut;
};
OpenedText open_text(const InputOptions& options);

// The texts as token ids, whole or cut to the longest length asked for. Throw as open_source()
// does.
std::vector<Document> load_whole_documents(const InputOptions& options);
std::vector<Document> load_documents(const InputOptions& options);

// The same model with other files: texts where it has texts, else token ids.
InputOptions with_files(InputOptions input, const std::vector<std::string>& files);

// The model with these documents.
std::unique_ptr<HeadSource> open_documents(const InputOptions& options,
                                           std::vector<Document> documents);

// Of each document at most `most` pieces of `tokens` tokens, spread over it. Each has what the
// tokenizer puts around a text.
std::vector<Document> spread_pieces(const std::vector<Document>& documents, Index tokens,
                                    std::size_t most);

// Throws UnsupportedError where the model is a dump, which says nothing of a loss.
void require_checkpoint(const InputOptions& options, const std::string& command);

// The longest context that auto takes.
Index longest_auto(const ModelSummary& model);

// Whether some document of either has 64 tokens in a row, or all of a shorter one, in common with
// one of the other.
bool share_tokens(std::span<const Document> a, std::span<const Document> b);

// Throws UsageError, which names the option, where two of the documents do.
void require_apart(const std::vector<Document>& documents, const std::string& option);

}  // namespace headgauge::cli
