#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/file.hpp"
#include "base/sha256.hpp"
#include "headgauge/model.hpp"
#include "tokenize/first_tokens.hpp"
#include "tokenize/text_checker.hpp"

namespace headgauge {

Document read_document(const std::string& path, const Tokenizer& tokenizer, bool causal,
                       const std::stop_token& stop, std::size_t most) {
  // Read once and to its end, for its sum: a pipe has nothing left for a second time.
  Sha256 sum;
  FirstTokens first(tokenizer, most);
  TextChecker checker(path, [&](std::string_view characters) { first.add(characters); });
  read_pieces(path, stop, [&](std::string_view piece) {
    sum.add(std::as_bytes(std::span(piece)));
    checker.add(piece);
  });
  checker.finish();
  FirstTokens::Found found = first.finish();
  Document document{path, std::move(found.tokens), sum.hex()};
  document.before = std::move(found.around.before);
  document.goes_on = !found.whole;
  std::vector<int>& end = causal ? document.tokens : document.after;
  if (found.whole || !causal) {
    end.insert(end.end(), found.around.after.begin(), found.around.after.end());
  }
  document.total = document.size();
  return document;
}

Document read_ids(const std::string& path, const std::stop_token& stop) {
  const std::string bytes = read_stream(path, stop);
  Document document{path, parse_token_ids(bytes, path),
                    sha256_hex(std::as_bytes(std::span(bytes)))};
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
