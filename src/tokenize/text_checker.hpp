// Checks a text that comes in pieces.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace headgauge {

// Checks a UTF-8 text and passes it on in whole characters, without its byte order mark. Throws
// BadInputError that gives the offset of the first byte that is not UTF-8, or says that the text is
// empty; `path` is for messages.
class TextChecker {
 public:
  TextChecker(const std::string& path, std::function<void(std::string_view)> take);

  void add(std::string_view bytes);
  // Call this after the last piece.
  void finish();

 private:
  void check(std::string_view bytes);
  void take(std::string_view characters);
  [[noreturn]] void refuse(std::string_view rest) const;

  const std::string& path_;
  std::function<void(std::string_view)> take_;
  std::string waiting_;     // bytes that cannot be judged yet
  std::size_t offset_ = 0;  // bytes before `waiting_`
  bool any_ = false;        // some characters were passed on
};

}  // namespace headgauge
