#include "cli/read_documents.hpp"

#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "cli/host.hpp"
#include "headgauge/parallel.hpp"
#include "headgauge/tokenize.hpp"

namespace headgauge::cli {
namespace {

// The tokenizer takes up to 160 times the memory of a text: longer ones are read one at a time.
constexpr std::uintmax_t kShortText = std::uintmax_t{256} << 10;

// Bytes of ids that are held of documents that other processes may measure; the ids of further ones
// are read again where they are needed.
constexpr std::size_t kMostHeld = std::size_t{64} << 20;

// A file of --text or --tokens.
struct Input {
  std::string path;
  bool is_given = false;  // by a host
  std::function<Document()> read;
};

// A pipe has nothing left for a second time.
void refuse_pipes(const InputOptions& options) {
  if (!options.read_again) return;
  std::error_code none;  // what cannot be looked at is said when it is opened
  for (const auto* paths : {&options.texts, &options.tokens}) {
    for (const std::string& path : *paths) {
      if (!std::filesystem::is_fifo(path, none)) continue;
      throw UsageError(fault(path, "a file, for " + options.asked_by + " reads it more than once",
                             "a pipe", "write it to a file first"));
    }
  }
}

// What a host gives in place of the file of that name; null: nothing.
template <class T>
const T* given(const std::string& name, std::map<std::string, T> Host::*kind) {
  const Host* const program = host();
  if (program == nullptr) return nullptr;
  const auto found = (program->*kind).find(name);
  return found == (program->*kind).end() ? nullptr : &found->second;
}

std::vector<Input> inputs_of(const InputOptions& options,
                             const std::shared_ptr<const Tokenizer>& tokenizer, bool causal,
                             std::size_t most) {
  std::vector<Input> inputs;
  for (const std::string& path : options.texts) {
    const std::string* const text = given(path, &Host::texts);
    inputs.push_back(
        {path, text != nullptr, [=, with_texts = options.with_texts, stop = options.stop] {
           return text != nullptr
                      ? parse_document(*text, path, *tokenizer, causal, with_texts, most)
                      : read_document(path, *tokenizer, causal, with_texts, stop, most);
         }});
  }
  for (const std::string& path : options.tokens) {
    const std::vector<int>* const ids = given(path, &Host::tokens);
    inputs.push_back({path, ids != nullptr, [=, stop = options.stop] {
                        return ids != nullptr ? make_document(*ids, path) : read_ids(path, stop);
                      }});
  }
  return inputs;
}

// Whether it can be read a second time.
bool is_file(const Input& input) {
  std::error_code none;
  return input.is_given || std::filesystem::is_regular_file(input.path, none);
}

bool is_short(const Input& input) {
  std::error_code none;
  return input.is_given || std::filesystem::file_size(input.path, none) <= kShortText;
}

using Read = std::vector<std::optional<Document>>;

// Reads the files, several short ones at a time, and calls `done` with the number of each that was
// read. A file that cannot be read is left out: reading it alone says why.
void read_several(const std::vector<Input>& inputs, int threads, Read& read,
                  const std::function<void(std::size_t)>& done) {
  const auto try_to_read = [&](std::size_t i) {
    try {
      read[i] = inputs[i].read();
      done(i);
    } catch (const Error&) {
    }
  };
  std::vector<std::size_t> together, alone;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (is_file(inputs[i])) (is_short(inputs[i]) ? together : alone).push_back(i);
  }
  ThreadPool pool(threads > 0 ? threads : static_cast<int>(std::thread::hardware_concurrency()));
  pool.for_each(std::ssize(together),
                [&](Index k) { try_to_read(together[static_cast<std::size_t>(k)]); });
  for (const std::size_t i : alone) try_to_read(i);
}

}  // namespace

std::vector<Document> read_documents(const InputOptions& options, const NamedModel& model,
                                     std::size_t most, Hold hold) {
  refuse_pipes(options);
  std::shared_ptr<const Tokenizer> tokenizer;
  if (!options.texts.empty()) tokenizer = std::make_shared<Tokenizer>(model.tokenizer());
  const bool causal = options.texts.empty() || model.summary().causal;
  const auto inputs =
      std::make_shared<const std::vector<Input>>(inputs_of(options, tokenizer, causal, most));
  Read read(inputs->size());
  const bool releases = options.in_part && hold == Hold::own && !options.with_texts;
  const Index vocabulary = releases ? model.summary().vocabulary : 0;
  std::atomic<std::size_t> held = 0;
  const auto release_further = [&](std::size_t i) {
    if (!releases) return;
    const std::size_t bytes = read[i]->tokens.size() * sizeof(int);
    if ((held += bytes) <= kMostHeld) return;
    held -= bytes;
    if (read[i]->has_ids_below(vocabulary)) read[i]->release([=] { return (*inputs)[i].read(); });
  };
  read_several(*inputs, options.threads, read, release_further);
  std::vector<Document> documents;
  for (std::size_t i = 0; i < inputs->size(); ++i) {
    documents.push_back(read[i] ? std::move(*read[i]) : (*inputs)[i].read());
  }
  return documents;
}

}  // namespace headgauge::cli
