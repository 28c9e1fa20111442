#include <fmt/format.h>

#include <algorithm>

#include "base/file.hpp"
#include "base/sha256.hpp"
#include "headgauge/model.hpp"

namespace headgauge {

namespace {

std::string sha256_of(const std::string& bytes) {
  return sha256_hex(std::as_bytes(std::span(bytes)));
}

}  // namespace

Document read_document(const std::string& path, const Tokenizer& tokenizer, bool causal,
                       const std::stop_token& stop) {
  // Read once: a pipe has nothing left for a second time.
  const std::string bytes = read_stream(path, stop);
  Tokenizer::Around around;
  Document document{path, tokenizer.encode(parse_text(bytes, path), around), sha256_of(bytes)};
  document.before = std::move(around.before);
  std::vector<int>& end = causal ? document.tokens : document.after;
  end.insert(end.end(), around.after.begin(), around.after.end());
  document.total = document.size();
  return document;
}

Document read_ids(const std::string& path, const std::stop_token& stop) {
  const std::string bytes = read_stream(path, stop);
  Document document{path, parse_token_ids(bytes, path), sha256_of(bytes)};
  document.total = document.size();
  return document;
}

std::vector<int> Document::context(Index length) const {
  const auto around = static_cast<Index>(before.size() + after.size());
  if (length < around) {
    throw BadInputError(
        fault("ScanOptions::lengths",
              fmt::format("at least {}, for {} special tokens stand around a text", around, around),
              std::to_string(length), "ask for longer ones, or give token ids"));
  }
  std::vector<int> ids = before;
  const auto inner = std::min<Index>(length - around, std::ssize(tokens));
  ids.insert(ids.end(), tokens.begin(), tokens.begin() + inner);
  ids.insert(ids.end(), after.begin(), after.end());
  return ids;
}

void Document::cut(std::size_t length) {
  const std::size_t around = before.size() + after.size();
  tokens.resize(std::min(tokens.size(), length > around ? length - around : 0));
}

}  // namespace headgauge
