#include <fmt/format.h>

#include <algorithm>
#include <iterator>

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
                       bool with_texts, const std::stop_token& stop) {
  // Read once: a pipe has nothing left for a second time.
  const std::string bytes = read_stream(path, stop);
  const std::string text = parse_text(bytes, path);
  Tokenizer::Around around;
  std::vector<std::string> texts;
  Document document{path,
                    with_texts ? tokenizer.encode(text, around, texts)  //
                               : tokenizer.encode(text, around),
                    sha256_of(bytes)};
  if (with_texts) {
    for (const int id : around.before) document.texts.push_back(tokenizer.piece(id));
    std::ranges::move(texts, std::back_inserter(document.texts));
    for (const int id : around.after) document.texts.push_back(tokenizer.piece(id));
  }
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

std::vector<std::string> Document::context_texts(Index length) const {
  std::vector<std::string> of_context;
  if (texts.empty()) {
    for (const int id : context(length)) of_context.push_back(std::to_string(id));
    return of_context;
  }
  const Index ends = std::ssize(after);
  const Index begins = std::min<Index>(length, std::ssize(texts)) - ends;
  of_context.assign(texts.begin(), texts.begin() + begins);
  of_context.insert(of_context.end(), texts.end() - ends, texts.end());
  return of_context;
}

void Document::cut(std::size_t length) {
  const std::size_t around = before.size() + after.size();
  const std::size_t kept = std::min(tokens.size(), length > around ? length - around : 0);
  if (!texts.empty()) {
    const auto dropped = texts.begin() + std::ssize(before) + static_cast<std::ptrdiff_t>(kept);
    texts.erase(dropped, texts.end() - std::ssize(after));
  }
  tokens.resize(kept);
}

}  // namespace headgauge
