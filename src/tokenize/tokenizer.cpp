#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "base/memory.hpp"
#include "base/sha256.hpp"
#include "base/utf8.hpp"
#include "headgauge/faults.hpp"
#include "headgauge/text.hpp"
#include "headgauge/tokenize.hpp"
#include "tokenize/tokenizer_json.hpp"

// The C ABI of the Rust crate in tokenize/ffi, which says what each function does.
extern "C" {

struct HgTokenizer;

void hg_memory_limit(std::size_t bytes);
void hg_out_of_memory_handler(void (*handler)(std::size_t bytes));
HgTokenizer* hg_tokenizer_from_json(const std::uint8_t* json, std::size_t size,
                                    const std::uint8_t* added, std::size_t added_size,
                                    char** error);
void hg_tokenizer_free(HgTokenizer* tokenizer);
bool hg_tokenizer_encode(const HgTokenizer* tokenizer, const std::uint8_t* text, std::size_t size,
                         bool add_special, std::uint32_t** ids, std::size_t* count,
                         std::size_t* before, std::size_t* after, std::size_t** ends, char** error);
void hg_ids_free(std::uint32_t* ids, std::size_t count);
void hg_ends_free(std::size_t* ends, std::size_t count);
char* hg_tokenizer_piece(const HgTokenizer* tokenizer, std::uint32_t id, char** error);
char* hg_tokenizer_decode(const HgTokenizer* tokenizer, const std::uint32_t* ids, std::size_t count,
                          char** error);
std::size_t hg_tokenizer_vocabulary(const HgTokenizer* tokenizer);
void hg_string_free(char* text);

}  // extern "C"

namespace headgauge {
namespace {

constexpr std::size_t kLongestReason = 300;

// Peak memory of the tokenizers library per byte of text: a byte-level BPE took 127.
constexpr std::size_t kBytesPerByte = 160;
constexpr std::size_t kUnaskedText = std::size_t{1} << 20;  // bytes that need no memory check

const std::uint8_t* octets(std::string_view bytes) {
  return reinterpret_cast<const std::uint8_t*>(bytes.data());
}

// Limits the library's memory from now on. Without a limit the system may kill the process without
// a message.
void limit_memory() {
  const std::size_t available = available_memory();
  hg_memory_limit(available - available / 8);  // an eighth for the overhead of allocators
  hg_out_of_memory_handler([](std::size_t bytes) { out_of_memory("tokenizer", bytes); });
}

struct FreeString {
  void operator()(char* text) const { hg_string_free(text); }
};
using OwnedString = std::unique_ptr<char, FreeString>;

// Returns the library's own message.
std::string reason(const char* text) {
  return in_quotes(text == nullptr ? "no reason given" : text, kLongestReason);
}

// Cuts a text at `ends`. Tokens that are parts of one character have the offsets of that character:
// the first of them gets the character, the others get empty texts.
std::vector<std::string> cut_at(std::string_view utf8, std::span<const std::size_t> ends) {
  std::vector<std::string> pieces;
  pieces.reserve(ends.size());
  std::size_t from = 0;
  for (const std::size_t end : ends) {
    const std::size_t to = std::clamp(end, from, utf8.size());
    pieces.emplace_back(utf8.substr(from, to - from));
    from = to;
  }
  return pieces;
}

}  // namespace

struct Tokenizer::Impl {
  struct Free {
    void operator()(HgTokenizer* tokenizer) const { hg_tokenizer_free(tokenizer); }
  };
  std::string path, notice;
  std::unique_ptr<HgTokenizer, Free> handle;
};

Tokenizer::Tokenizer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

Tokenizer Tokenizer::load(const Checkpoint& checkpoint) {
  const Gguf* const file = checkpoint.gguf();
  return file != nullptr ? load_gguf(*file) : load(checkpoint.model().tokenizer());
}

Tokenizer Tokenizer::load_gguf(const Gguf& file) {
  limit_memory();
  return loaded(file.path(), gguf_tokenizer_json(file), {});
}

Tokenizer Tokenizer::loaded(const std::string& path, std::string_view json,
                            std::string_view added) {
  auto impl = std::make_unique<Impl>();
  impl->path = path;
  char* error = nullptr;
  impl->handle.reset(
      hg_tokenizer_from_json(octets(json), json.size(), octets(added), added.size(), &error));
  const OwnedString owned(error);
  if (impl->handle == nullptr) {
    throw BadInputError(fault(path, "a tokenizer that the tokenizers library can read",
                              reason(error),
                              "fetch the file again, or give token ids (parse_token_ids())"));
  }
  return Tokenizer(std::move(impl));
}

Tokenizer Tokenizer::load(const std::string& folder) {
  if (is_gguf(folder)) return load_gguf(Gguf::open(folder));
  limit_memory();
  const FolderTokenizer files = read_folder_tokenizer(folder);
  Tokenizer tokenizer = loaded(files.path, files.bytes, files.added);
  files.require_agreement(tokenizer);
  tokenizer.impl_->notice = files.notice;
  return tokenizer;
}

std::string Tokenizer::kind(const std::string& folder) {
  return is_gguf(folder) ? gguf_tokenizer_kind(Gguf::open(folder)) : folder_tokenizer_kind(folder);
}

const std::string& Tokenizer::notice() const {
  return impl_->notice;
}

std::vector<int> Tokenizer::encode(std::string_view utf8, bool add_special) const {
  Around around;
  std::vector<int> ids = encode_parts(utf8, add_special, around, nullptr);
  ids.insert(ids.begin(), around.before.begin(), around.before.end());
  ids.insert(ids.end(), around.after.begin(), around.after.end());
  return ids;
}

std::vector<int> Tokenizer::encode(std::string_view utf8, Around& around) const {
  return encode_parts(utf8, true, around, nullptr);
}

std::vector<int> Tokenizer::encode(std::string_view utf8, Around& around,
                                   std::vector<std::string>& texts) const {
  return encode_parts(utf8, true, around, &texts);
}

std::vector<int> Tokenizer::encode_parts(std::string_view utf8, bool add_special, Around& around,
                                         std::vector<std::string>* texts) const {
  if (const std::size_t at = find_invalid_utf8(utf8); at != std::string_view::npos) {
    throw BadInputError(fault("text byte " + std::to_string(at), "UTF-8", "another encoding",
                              "convert the text to UTF-8"));
  }
  if (utf8.size() > kUnaskedText) {
    require_memory(kBytesPerByte * utf8.size(),
                   "tokens of " + format_bytes(utf8.size()) + " of text", "use a shorter text");
    limit_memory();
  }
  std::uint32_t* ids = nullptr;
  std::size_t* ends = nullptr;
  std::size_t count = 0, before = 0, after = 0;
  char* error = nullptr;
  const bool encoded =
      hg_tokenizer_encode(impl_->handle.get(), octets(utf8), utf8.size(), add_special, &ids, &count,
                          &before, &after, texts != nullptr ? &ends : nullptr, &error);
  const OwnedString owned(error);
  if (!encoded) {
    throw BadInputError(
        fault(impl_->path, "a vocabulary that can express the text", reason(error),
              "use a text that the model knows, or give token ids (parse_token_ids())"));
  }
  const auto release = [count](std::uint32_t* p) { hg_ids_free(p, count); };
  const std::unique_ptr<std::uint32_t, decltype(release)> list(ids, release);
  const auto release_ends = [count](std::size_t* p) { hg_ends_free(p, count); };
  const std::unique_ptr<std::size_t, decltype(release_ends)> list_of_ends(ends, release_ends);
  if (texts != nullptr) {
    *texts = cut_at(utf8, std::span(ends, count).subspan(before, count - before - after));
  }
  std::vector<int> result;
  result.reserve(count);
  for (const std::uint32_t id : std::span(ids, count)) {
    if (id > static_cast<std::uint32_t>(std::numeric_limits<int>::max())) {
      throw BadInputError(fault(impl_->path, "token ids below 2147483648", std::to_string(id),
                                "fetch the file again"));
    }
    result.push_back(static_cast<int>(id));
  }
  const auto first = result.begin() + static_cast<std::ptrdiff_t>(before);
  const auto last = result.end() - static_cast<std::ptrdiff_t>(after);
  around.before.assign(result.begin(), first);
  around.after.assign(last, result.end());
  return {first, last};
}

std::string Tokenizer::piece(int id) const {
  if (id < 0) return {};
  char* error = nullptr;
  const OwnedString text(
      hg_tokenizer_piece(impl_->handle.get(), static_cast<std::uint32_t>(id), &error));
  const OwnedString owned(error);
  if (error != nullptr) {
    throw BadInputError(fault(impl_->path, "a decoder for token " + std::to_string(id),
                              reason(error), "fetch the file again"));
  }
  return text == nullptr ? std::string() : std::string(text.get());
}

std::string Tokenizer::decode(std::span<const int> ids) const {
  const std::vector<std::uint32_t> list(ids.begin(), ids.end());
  char* error = nullptr;
  const OwnedString text(
      hg_tokenizer_decode(impl_->handle.get(), list.data(), list.size(), &error));
  const OwnedString owned(error);
  if (text == nullptr) {
    throw BadInputError(
        fault(impl_->path, "a decoder for its tokens", reason(error), "fetch the file again"));
  }
  return text.get();
}

std::string Tokenizer::sha256() const {
  Sha256 sum;
  const int end = vocabulary();  // counts the tokens
  for (int id = 0; id < end; ++id) {
    const std::string line = piece(id) + '\n';
    sum.add(std::as_bytes(std::span(line)));
  }
  return sum.hex();
}

int Tokenizer::vocabulary() const {
  return static_cast<int>(hg_tokenizer_vocabulary(impl_->handle.get()));
}

const std::string& Tokenizer::path() const {
  return impl_->path;
}

}  // namespace headgauge
