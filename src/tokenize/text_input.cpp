#include <algorithm>
#include <charconv>
#include <functional>
#include <system_error>
#include <utility>

#include "base/file.hpp"
#include "base/utf8.hpp"
#include "headgauge/text.hpp"
#include "headgauge/tokenize.hpp"
#include "tokenize/text_checker.hpp"

namespace headgauge {
namespace {

constexpr std::size_t kLongestWord = 24;  // in a message

bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

std::string hexadecimal(char byte) {
  constexpr std::string_view digits = "0123456789abcdef";
  const auto value = static_cast<unsigned char>(byte);
  return {'0', 'x', digits[value >> 4], digits[value & 15]};
}

int parse_id(std::string_view word, const std::function<std::string()>& where) {
  int id = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), id);
  if (error != std::errc() || end != word.data() + word.size() || id < 0) {
    throw BadInputError(fault(where(), "a token id (an integer from 0 to 2147483647)",
                              in_quotes(word, kLongestWord),
                              "separate ids only by spaces or line breaks"));
  }
  return id;
}

}  // namespace

std::string read_text_file(const std::string& path) {
  return parse_text(read_stream(path), path);
}

std::string parse_text(std::string text, const std::string& path) {
  std::string characters;
  TextChecker checker(path, [&](std::string_view piece) { characters += piece; });
  checker.add(text);
  checker.finish();
  return characters;
}

TextChecker::TextChecker(const std::string& path, std::function<void(std::string_view)> take)
    : path_(path), take_(std::move(take)) {}

void TextChecker::add(std::string_view bytes) {
  if (!waiting_.empty() || offset_ == 0) {
    waiting_ += bytes;
    // The three bytes of the byte order mark may come in several pieces, too.
    if (offset_ == 0 && waiting_.size() < kByteOrderMark.size()) return;
    const std::string all = std::exchange(waiting_, {});
    check(all);
  } else {
    check(bytes);
  }
}

void TextChecker::finish() {
  if (const std::string rest = std::exchange(waiting_, {}); !rest.empty()) {
    if (find_invalid_utf8(rest) != rest.npos) refuse(rest);
    take(rest);
  }
  if (any_) return;
  throw BadInputError(fault(path_, "a text", "an empty file", "give a text to measure on"));
}

void TextChecker::check(std::string_view bytes) {
  constexpr std::size_t kLongestCharacter = 4;
  const std::size_t valid = std::min(find_invalid_utf8(bytes), bytes.size());
  const std::string_view rest = bytes.substr(valid);
  if (rest.size() >= kLongestCharacter) {
    take(bytes.substr(0, valid));
    refuse(rest);
  }
  take(bytes.substr(0, valid));
  waiting_ = rest;  // the rest of the character may follow
}

void TextChecker::take(std::string_view characters) {
  const bool first = offset_ == 0;
  offset_ += characters.size();
  if (first) characters = without_mark(characters);
  if (characters.empty()) return;
  any_ = true;
  take_(characters);
}

void TextChecker::refuse(std::string_view rest) const {
  const std::size_t at = find_invalid_utf8(rest);
  const bool utf16 = offset_ == 0 && (rest.starts_with("\xFF\xFE") || rest.starts_with("\xFE\xFF"));
  throw BadInputError(fault(
      path_ + " byte " + std::to_string(offset_ + at), "UTF-8 text",
      utf16 ? "UTF-16" : "the byte " + hexadecimal(rest[at]),
      utf16 ? "convert it (iconv -f UTF-16 -t UTF-8)" : "convert it (iconv -f ENCODING -t UTF-8)"));
}

std::vector<int> read_token_ids(const std::string& path) {
  return parse_token_ids(read_stream(path), path);
}

std::vector<int> parse_token_ids(std::string_view text, const std::string& path) {
  text = without_mark(text);
  std::vector<int> ids;
  std::size_t line = 1, line_start = 0;
  for (std::size_t at = 0; at < text.size();) {
    if (is_space(text[at])) {
      if (text[at++] == '\n') {
        ++line;
        line_start = at;
      }
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && !is_space(text[end])) ++end;
    const std::string_view word = text.substr(at, end - at);
    ids.push_back(parse_id(word, [&] {
      return path + " line " + std::to_string(line) + " column " +
             std::to_string(at - line_start + 1);
    }));
    at = end;
  }
  refuse_if(ids.empty(), path, "token ids", text.empty() ? "an empty file" : "only whitespace",
            "give ids separated by whitespace");
  return ids;
}

void check_ids(std::span<const int> ids, Index vocabulary, std::string_view where) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] >= 0 && ids[i] < vocabulary) continue;
    throw BadInputError(fault(std::string(where) + " token " + std::to_string(i + 1) + " of " +
                                  std::to_string(ids.size()),
                              "an id from 0 to " + std::to_string(vocabulary - 1),
                              std::to_string(ids[i]), "use the model's own tokenizer"));
  }
}

}  // namespace headgauge
