#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "base/file.hpp"
#include "base/utf8.hpp"
#include "headgauge/memory.hpp"
#include "headgauge/tasks.hpp"
#include "tasks/case_line.hpp"

namespace headgauge {
namespace {

constexpr const char* kNoCase = "give one case a line, as docs/tasks.md says";

// Joins the pieces of a file into lines and passes on those that are not blank, with their numbers
// from 1.
class Lines {
 public:
  using Take = std::function<void(std::string_view text, Index number)>;

  Lines(const std::string& path, Take take) : path_(path), take_(std::move(take)) {}

  void add(std::string_view piece) {
    while (!piece.empty()) {
      const std::size_t end = piece.find('\n');
      const std::string_view part = piece.substr(0, end);
      if (line_.size() + part.size() > kLongestCase) {
        throw BadInputError(fault(fmt::format("{} line {}", path_, number_),
                                  fmt::format("at most {}", format_bytes(kLongestCase)), "more",
                                  kNoCase));
      }
      if (end == piece.npos) {
        line_ += part;
        return;
      }
      if (line_.empty()) {
        finish_line(part);
      } else {
        line_ += part;
        finish_line(line_);
        line_.clear();
      }
      piece.remove_prefix(end + 1);
    }
  }

  void finish() {
    if (!line_.empty()) finish_line(line_);
  }

 private:
  void finish_line(std::string_view text) {
    const Index number = number_++;
    if (number == 1) text = without_mark(text);
    if (text.find_first_not_of(" \t\r") != text.npos) take_(text, number);
  }

  const std::string& path_;
  Take take_;
  std::string line_;  // the beginning of a line that is not complete
  Index number_ = 1;
};

void read_lines(const std::string& path, const TaskReading& reading, const Lines::Take& take) {
  Lines lines(path, take);
  read_pieces(
      path, reading.stop, [&](std::string_view piece) { lines.add(piece); }, kLargestTasks);
  lines.finish();
}

// Reads the file twice: counts the cases, then passes on the lines of the chosen ones alone.
void read_some(const std::string& path, const TaskReading& reading, const Lines::Take& take) {
  std::error_code none;  // opening the file reports the error
  if (std::filesystem::is_fifo(path, none)) {
    throw UsageError(fault(path, "a file, because some cases are chosen from all", "a pipe",
                           "write it to a file first"));
  }
  Index total = 0;
  read_lines(path, reading, [&](std::string_view, Index) { ++total; });
  const Index chosen = std::min(reading.most, total);
  Index at = 0, taken = 0;
  read_lines(path, reading, [&](std::string_view text, Index number) {
    // The middle of each of `chosen` equal parts of the file.
    if (taken < chosen && at++ == (2 * taken + 1) * total / (2 * chosen)) {
      ++taken;
      take(text, number);
    }
  });
  if (taken == chosen) return;
  throw BadInputError(
      fault(path, "a file that stays as it is", "fewer lines than before", "run it again"));
}

}  // namespace

Index read_task_cases(const std::string& path, const TaskReading& reading,
                      const std::function<void(TaskCase)>& take) {
  CaseParser parser(path, reading);
  Index cases = 0, passed = 0;
  const auto parse = [&](std::string_view text, Index number) {
    ++cases;
    std::optional<TaskCase> one = parser.parse(text, number);
    if (!one) return;
    ++passed;
    take(std::move(*one));
  };
  (reading.most > 0 ? read_some : read_lines)(path, reading, parse);
  if (cases == 0) throw BadInputError(fault(path, "a case", "an empty file", kNoCase));
  if (passed == 0) {
    throw BadInputError(fault(path, "answers that begin with a token of their own",
                              fmt::format("none in {} {}", cases, cases == 1 ? "case" : "cases"),
                              "begin each answer at a word, with the space before it"));
  }
  return cases - passed;
}

}  // namespace headgauge
