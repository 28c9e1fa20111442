#include <charconv>
#include <system_error>

#include "base/file.hpp"
#include "base/utf8.hpp"
#include "headgauge/text.hpp"
#include "headgauge/tokenize.hpp"

namespace headgauge {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

constexpr std::size_t kLongestWord = 24;  // of a message

bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

std::string hexadecimal(char byte) {
  constexpr std::string_view digits = "0123456789abcdef";
  const auto value = static_cast<unsigned char>(byte);
  return {'0', 'x', digits[value >> 4], digits[value & 15]};
}

int parse_id(std::string_view word, const std::string& where) {
  int id = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), id);
  if (error != std::errc() || end != word.data() + word.size() || id < 0) {
    throw BadInputError(fault(where, "a token id (an integer from 0 to 2147483647)",
                              in_quotes(word, kLongestWord),
                              "separate ids by spaces or line breaks, nothing else"));
  }
  return id;
}

}  // namespace

std::string read_text_file(const std::string& path) {
  return parse_text(read_stream(path), path);
}

std::string parse_text(std::string text, const std::string& path) {
  if (const std::size_t at = find_invalid_utf8(text); at != std::string_view::npos) {
    const bool utf16 = text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF");
    throw BadInputError(fault(path + " byte " + std::to_string(at), "UTF-8 text",
                              utf16 ? "UTF-16" : "the byte " + hexadecimal(text[at]),
                              utf16 ? "convert it (iconv -f UTF-16 -t UTF-8)"
                                    : "convert it (iconv -f ENCODING -t UTF-8)"));
  }
  // The mark says how a file is encoded and is no part of what was written.
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  if (text.empty()) {
    throw BadInputError(fault(path, "a text", "an empty file", "give a text to measure on"));
  }
  return text;
}

std::vector<int> read_token_ids(const std::string& path) {
  return parse_token_ids(read_stream(path), path);
}

std::vector<int> parse_token_ids(std::string_view text, const std::string& path) {
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
    ids.push_back(parse_id(word, path + " line " + std::to_string(line) + " column " +
                                     std::to_string(at - line_start + 1)));
    at = end;
  }
  if (ids.empty()) {
    throw BadInputError(fault(path, "token ids",
                              text.empty() ? "an empty file" : "nothing but whitespace",
                              "give ids separated by whitespace"));
  }
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
