#include "session/read_documents.hpp"

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "headgauge/parallel.hpp"

namespace headgauge {
namespace {

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

}  // namespace

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

}  // namespace headgauge
