#include "session/input.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "headgauge/parallel.hpp"

namespace headgauge {
namespace {

// The documents whose ids a process keeps in memory.
enum class Hold {
  all,
  own,  // a shard keeps the first 64 MiB, and reads other documents again when it measures them
};

// The tokenizer needs up to 160 times the memory of a text, so longer texts are read one at a time.
constexpr std::uintmax_t kShortText = std::uintmax_t{256} << 10;

// Bytes of token ids that a shard keeps in memory; it reads further documents again when needed.
constexpr std::size_t kMostHeld = std::size_t{64} << 20;

// Throws if a text is a pipe, which cannot be read a second time.
void refuse_pipes(const Input& input) {
  if (!input.read_again) return;
  std::error_code none;  // opening the file reports the error
  for (const Text& text : input.texts) {
    if (!text.is_file() || !std::filesystem::is_fifo(text.name, none)) continue;
    throw UsageError(fault(text.name, "a file, for " + input.asked_by + " reads it more than once",
                           "a pipe", "write it to a file first"));
  }
}

// Reads one text as a document.
class Reader {
 public:
  Reader(const Input& input, std::size_t most)
      : most_(most), with_texts_(input.with_texts), stop_(input.stop) {
    const bool any_text = std::ranges::any_of(input.texts, [](const Text& t) { return !t.is_ids; });
    if (!any_text) return;
    tokenizer_ = std::make_shared<const Tokenizer>(input.model.tokenizer());
    causal_ = input.model.summary().causal;
  }

  Document operator()(const Text& text) const {
    if (text.ids != nullptr) return make_document(*text.ids, text.name);
    if (text.is_ids) return read_ids(text.name, stop_);
    return text.utf8 != nullptr
               ? parse_document(*text.utf8, text.name, *tokenizer_, causal_, with_texts_, most_)
               : read_document(text.name, *tokenizer_, causal_, with_texts_, stop_, most_);
  }

 private:
  std::size_t most_;
  bool with_texts_;
  std::stop_token stop_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  bool causal_ = true;
};

// Returns whether the text can be read a second time.
bool is_readable_again(const Text& text) {
  std::error_code none;
  return !text.is_file() || std::filesystem::is_regular_file(text.name, none);
}

bool is_short(const Text& text) {
  std::error_code none;
  return !text.is_file() || std::filesystem::file_size(text.name, none) <= kShortText;
}

using Read = std::vector<std::optional<Document>>;

// Reads the texts, several short ones at a time, and calls `done` with the number of each text that
// was read. Skips texts that cannot be read; reading them alone reports the error.
void read_several(const Texts& texts, const Reader& reader, int threads, Read& read,
                  const std::function<void(std::size_t)>& done) {
  const auto try_to_read = [&](std::size_t i) {
    try {
      read[i] = reader(texts[i]);
      done(i);
    } catch (const Error&) {
    }
  };
  std::vector<std::size_t> together, alone;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (is_readable_again(texts[i])) (is_short(texts[i]) ? together : alone).push_back(i);
  }
  ThreadPool pool(thread_count(threads));
  pool.for_each(std::ssize(together),
                [&](Index k) { try_to_read(together[static_cast<std::size_t>(k)]); });
  for (const std::size_t i : alone) try_to_read(i);
}

// Reads all documents. Reads at most `most` tokens of each if that suffices (0: all tokens). Throws
// as read_document() and read_ids() do for the first text that cannot be read.
std::vector<Document> read_documents(const Input& input, std::size_t most, Hold hold) {
  refuse_pipes(input);
  const Reader reader(input, most);
  const auto texts = std::make_shared<const Texts>(input.texts);
  Read read(texts->size());
  const bool releases = input.in_part && hold == Hold::own && !input.with_texts;
  const Index vocabulary = releases ? input.model.summary().vocabulary : 0;
  std::atomic<std::size_t> held = 0;
  const auto release_further = [&](std::size_t i) {
    if (!releases) return;
    const std::size_t bytes = read[i]->tokens.size() * sizeof(int);
    if ((held += bytes) <= kMostHeld) return;
    held -= bytes;
    if (read[i]->has_ids_below(vocabulary)) {
      read[i]->release([=] { return reader((*texts)[i]); });
    }
  };
  read_several(*texts, reader, input.threads, read, release_further);
  std::vector<Document> documents;
  for (std::size_t i = 0; i < texts->size(); ++i) {
    documents.push_back(read[i] ? std::move(*read[i]) : reader((*texts)[i]));
  }
  return documents;
}

constexpr Index kLongestAuto = 1024;
constexpr Index kSharedRun =
    64;  // two texts with this many consecutive tokens in common are copies

// Reads all tokens of the texts.
constexpr std::size_t kAllTokens = 0;

// Returns the longest context requested; auto stops at the trained context length.
std::size_t longest_asked(const Input& input, const ModelSummary& summary) {
  if (input.lengths.empty()) return static_cast<std::size_t>(longest_auto(summary));
  return static_cast<std::size_t>(std::max(1, *std::ranges::max_element(input.lengths)));
}

// Looks up the text of the token ids. If the model has no readable tokenizer, documents have ids
// only: no measure needs the text.
void look_up_texts(const Model& model, std::vector<Document>& documents) {
  const bool all_have =
      std::ranges::none_of(documents, [](const Document& one) { return one.texts.empty(); });
  if (all_have || !model.has_tokenizer()) return;
  try {
    const Tokenizer tokenizer = model.tokenizer();
    for (Document& document : documents) {
      if (!document.texts.empty()) continue;
      for (const int id : document.tokens) document.texts.push_back(tokenizer.piece(id));
    }
  } catch (const BadInputError&) {
  } catch (const UnsupportedError&) {
  }
}

// Cuts each document to the requested number of tokens.
void cut_documents(const Input& input, const ModelSummary& summary,
                   std::vector<Document>& documents) {
  for (Document& document : documents) document.cut(longest_asked(input, summary));
}

// Reads the requested beginnings of the texts, limited to the model's context length.
std::vector<Document> read_beginnings(const Input& input, Hold hold) {
  const ModelSummary& summary = input.model.summary();
  std::size_t most = longest_asked(input, summary);
  if (summary.positions > 0) most = std::min(most, static_cast<std::size_t>(summary.positions));
  return read_documents(input, most, hold);
}

// Cuts documents into pieces, each with the special tokens that the tokenizer adds to a text.
std::vector<Document> pieces_of(const std::vector<Document>& documents, Index tokens) {
  std::vector<Document> pieces;
  for (const Document& document : documents) {
    const Index inner = tokens - std::ssize(document.before) - std::ssize(document.after);
    for (Index at = 0; inner > 0 && at + inner <= std::ssize(document.tokens); at += inner) {
      const auto begin = document.tokens.begin() + at;
      pieces.push_back({.name = document.name,
                        .tokens = {begin, begin + inner},
                        .sha256 = document.sha256,
                        .total = document.total,
                        .before = document.before,
                        .after = document.after,
                        .first = static_cast<std::size_t>(at)});
    }
  }
  return pieces;
}

// Throws unless each of several texts is long enough for all requested lengths: a mean must cover
// the same texts at every length.
void require_length(const std::vector<Document>& documents, const Input& input,
                    const ModelSummary& model) {
  if (input.lengths.empty()) return;
  const Index longest = *std::ranges::max_element(input.lengths);
  const Index positions = model.positions > 0 ? model.positions : model.trained_length;
  if (model.positions > 0 && longest > model.positions)
    return;  // no text fits; a later message says so
  for (const Document& document : documents) {
    const auto tokens = static_cast<Index>(document.total);
    if (tokens >= longest) continue;
    std::string advice = "give a longer text";
    if (tokens >= 2) {  // nothing can be measured on fewer
      advice = fmt::format("choose from {}, or {}",
                           fmt::join(auto_lengths(tokens, positions), ", "), advice);
    }
    throw BadInputError(fault(
        document.name,
        fmt::format("ScanOptions::lengths of at most {}, because it has {} tokens", tokens, tokens),
        std::to_string(longest),
        documents.size() == 1
            ? advice
            : fmt::format("{}, leave this one out, or {}", advice, input.auto_advice)));
  }
}

// Cuts whole texts into pieces, each opened as a source of its own; the model must stay unchanged.
CutText cutter(Model model, std::vector<Document> documents, const SourceOptions& source) {
  model.hold();
  return [=, documents = std::move(documents)](int tokens) {
    TextPieces pieces;
    auto of_text = pieces_of(documents, tokens);
    pieces.count = of_text.size();
    pieces.open = [=, of_text = std::move(of_text)](std::size_t piece) {
      return model.open({of_text[piece]}, source);
    };
    return pieces;
  };
}

// Opens the source; reads the texts whole if `cut` is not null.
std::shared_ptr<HeadSource> open(const Input& input, CutText* cut) {
  const Model& model = input.model;
  const SourceOptions source{input.x, input.threads};
  if (model.has_own_queries()) return model.open(source);
  if (input.texts.empty() && input.cases.documents.empty()) {
    throw UsageError(
        fault(input.asked_by, "a text to measure on", kNoTexts, "add text_files(FILE)"));
  }
  // Reports an unknown family or an invalid config before tokenising a long text.
  const ModelSummary& summary = model.summary();
  std::vector<Document> documents = cut == nullptr ? read_beginnings(input, Hold::own)
                                                   : read_documents(input, kAllTokens, Hold::all);
  if (cut != nullptr) *cut = cutter(model, documents, source);
  cut_documents(input, summary, documents);
  require_length(documents, input, summary);
  append_cases(input.cases, documents);
  if (input.with_texts) look_up_texts(model, documents);
  auto opened = model.open(std::move(documents), source);
  input.cases.require_loss(opened->info());
  return opened;
}

}  // namespace

void Input::take(const ScanOptions& scan) {
  lengths = scan.lengths;
  x = scan.x;
  threads = scan.threads;
  const bool are_few = texts.size() <= kDocumentsWithExamples;
  with_texts = scan.examples.value_or(are_few ? kUsualExamples : 0) > 0;
}

const char* option_of(const Texts& texts) {
  return !texts.empty() && texts.front().is_ids ? "token_files()" : "text_files()";
}

Input Input::with(Texts others) const {
  Input input = *this;
  input.texts = std::move(others);
  input.cases = {};
  return input;
}

Index longest_auto(const ModelSummary& model) {
  const Index trained = model.trained_length;
  return trained > 0 ? std::min(kLongestAuto, trained) : kLongestAuto;
}

std::vector<Document> load_whole_documents(const Input& input) {
  return read_documents(input, kAllTokens, Hold::all);
}

std::vector<Document> load_documents(const Input& input) {
  std::vector<Document> documents = read_beginnings(input, Hold::all);
  cut_documents(input, input.model.summary(), documents);
  return documents;
}

std::unique_ptr<HeadSource> open_documents(const Input& input, std::vector<Document> documents) {
  return input.model.open(std::move(documents), {input.x, input.threads});
}

std::vector<Document> spread_pieces(const std::vector<Document>& documents, Index tokens,
                                    std::size_t most) {
  std::vector<Document> chosen;
  for (const Document& document : documents) {
    std::vector<Document> all = pieces_of({document}, tokens);
    const std::size_t count = std::min(most, all.size());
    for (std::size_t k = 0; k < count; ++k) {
      chosen.push_back(std::move(all[(2 * k + 1) * all.size() / (2 * count)]));
    }
  }
  return chosen;
}

bool share_tokens(std::span<const Document> a, std::span<const Document> b) {
  // A text with fewer tokens than kSharedRun is compared whole.
  Index run = kSharedRun;
  for (const auto documents : {a, b}) {
    for (const Document& text : documents) run = std::min(run, std::ssize(text.tokens));
  }
  const auto any_run = [&](std::span<const Document> documents, const auto& visit) {
    for (const Document& text : documents) {
      for (auto from = text.tokens.begin(); text.tokens.end() - from >= run; ++from) {
        if (visit(std::vector<int>(from, from + run))) return true;
      }
    }
    return false;
  };
  std::set<std::vector<int>> runs;
  any_run(a, [&](std::vector<int> tokens) {
    runs.insert(std::move(tokens));
    return false;
  });
  return any_run(b, [&](const std::vector<int>& tokens) { return runs.contains(tokens); });
}

void require_apart(const std::vector<Document>& documents, const std::string& option) {
  for (std::size_t a = 0; a < documents.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      if (!share_tokens({&documents[a], 1}, {&documents[b], 1})) continue;
      throw UsageError(
          fault(option, "texts that have nothing in common",
                fmt::format("tokens of {} in {}", documents[b].name, documents[a].name),
                "what holds on a text must be tried on another one"));
    }
  }
}

void require_checkpoint(const Input& input, const std::string& run) {
  if (!input.model.has_own_queries()) return;
  throw UnsupportedError(fault(run, "a model with a loss", "a dump, which has no loss",
                               "give the checkpoint that it was made from"));
}

std::shared_ptr<HeadSource> open_source(const Input& input) {
  return open(input, nullptr);
}

OpenedText open_text(const Input& input) {
  OpenedText opened;
  opened.source = open(input, &opened.cut);
  return opened;
}

}  // namespace headgauge
