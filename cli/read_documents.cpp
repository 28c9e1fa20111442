#include "cli/read_documents.hpp"

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "cli/host.hpp"
#include "cli/ranks.hpp"
#include "headgauge/bytes.hpp"
#include "headgauge/parallel.hpp"
#include "headgauge/tokenize.hpp"

namespace headgauge::cli {
namespace {

// The tokenizer takes up to 160 times the memory of a text: longer ones are read one at a time.
constexpr std::uintmax_t kShortText = std::uintmax_t{256} << 10;

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

std::vector<Input> inputs_of(const InputOptions& options, const Tokenizer* tokenizer, bool causal,
                             std::size_t most) {
  std::vector<Input> inputs;
  for (const std::string& path : options.texts) {
    const std::string* const text = given(path, &Host::texts);
    inputs.push_back({path, text != nullptr, [=, &options] {
                        return text != nullptr
                                   ? parse_document(*text, path, *tokenizer, causal,
                                                    options.with_texts, most)
                                   : read_document(path, *tokenizer, causal, options.with_texts,
                                                   options.stop, most);
                      }});
  }
  for (const std::string& path : options.tokens) {
    const std::vector<int>* const ids = given(path, &Host::tokens);
    inputs.push_back({path, ids != nullptr, [=, &options] {
                        return ids != nullptr ? make_document(*ids, path)
                                              : read_ids(path, options.stop);
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

// Reads the files of the share, several short ones at a time. What cannot be read is left out: who
// reads it by itself learns why.
void read_share(const std::vector<Input>& inputs, const Share& share, int threads, Read& read) {
  const auto try_to_read = [&](std::size_t i) {
    try {
      read[i] = inputs[i].read();
    } catch (const Error&) {
    }
  };
  const auto step = static_cast<std::size_t>(share.count);
  std::vector<std::size_t> together, alone;
  for (auto i = static_cast<std::size_t>(share.index); i < inputs.size(); i += step) {
    if (is_file(inputs[i])) (is_short(inputs[i]) ? together : alone).push_back(i);
  }
  ThreadPool pool(threads > 0 ? threads : static_cast<int>(std::thread::hardware_concurrency()));
  pool.for_each(std::ssize(together),
                [&](Index k) { try_to_read(together[static_cast<std::size_t>(k)]); });
  for (const std::size_t i : alone) try_to_read(i);
}

void put_document(const Document& document, ByteWriter& to) {
  to.put_text(document.name);
  to.put_list(document.tokens);
  to.put_text(document.sha256);
  to.put(document.total);
  to.put(document.goes_on);
  to.put_list(document.before);
  to.put_list(document.after);
  to.put(document.first);
  to.put(document.texts.size());
  for (const std::string& text : document.texts) to.put_text(text);
}

Document take_document(ByteReader& from) {
  Document document;
  document.name = from.take_text();
  document.tokens = from.take_list<int>();
  document.sha256 = from.take_text();
  document.total = from.take<std::size_t>();
  document.goes_on = from.take<bool>();
  document.before = from.take_list<int>();
  document.after = from.take_list<int>();
  document.first = from.take<std::size_t>();
  for (auto left = from.take<std::size_t>(); left > 0; --left) {
    document.texts.push_back(from.take_text());
  }
  return document;
}

// Which files a rank was asked for.
std::uint64_t sum_of(const std::vector<Input>& inputs) {
  std::string paths;
  for (const Input& input : inputs) paths += input.path + '\n';
  return std::hash<std::string>()(paths);
}

// Every rank gets what any of them has read of the same files. Ranks of other files are named when
// their journals meet.
void exchange(Ranks& ranks, const std::vector<Input>& inputs, Read& read) {
  const std::uint64_t sum = sum_of(inputs);
  ByteWriter own;
  own.put(sum);
  for (std::size_t i = 0; i < read.size(); ++i) {
    if (!read[i]) continue;
    own.put(i);
    put_document(*read[i], own);
  }
  for (const Bytes& bytes : ranks.gather(own.take())) {
    ByteReader from(bytes);
    if (from.take<std::uint64_t>() != sum) continue;
    while (!from.at_end()) {
      const auto i = from.take<std::size_t>();
      read.at(i) = take_document(from);
    }
  }
}

}  // namespace

std::vector<Document> read_documents(const InputOptions& options, const NamedModel& model,
                                     std::size_t most) {
  refuse_pipes(options);
  std::optional<Tokenizer> tokenizer;
  if (!options.texts.empty()) tokenizer.emplace(model.tokenizer());
  const bool causal = options.texts.empty() || model.summary().causal;
  const std::vector<Input> inputs =
      inputs_of(options, tokenizer ? &*tokenizer : nullptr, causal, most);
  Read read(inputs.size());
  Ranks* const together = options.by_all_ranks ? ranks() : nullptr;
  read_share(inputs, together != nullptr ? together->share() : Share{}, options.threads, read);
  if (together != nullptr) exchange(*together, inputs, read);
  std::vector<Document> documents;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    documents.push_back(read[i] ? std::move(*read[i]) : inputs[i].read());
  }
  return documents;
}

}  // namespace headgauge::cli
