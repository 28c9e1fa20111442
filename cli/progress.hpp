// Shows the progress of a long computation on stderr.
#pragma once

#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>

#include "headgauge/base.hpp"

namespace headgauge::cli {

// Redraws one line on a terminal: stage, bar, percentage, rate and time left. Otherwise it prints a
// line every few seconds, so that logs stay short. clear() and the destructor erase the line.
class ProgressBar : public Progress {
 public:
  using Clock = std::function<std::chrono::steady_clock::time_point()>;

  ProgressBar(
      std::FILE* out, bool terminal, int width = 80,
      Clock clock = [] { return std::chrono::steady_clock::now(); });
  ~ProgressBar() override { clear(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void update(std::string_view what, double done, double total) override;
  void clear();
  // Leaves the time of what a resumed run has done already, this share, out of the time left.
  void resume(double done) { resumed_ = done; }

 private:
  void put(const std::string& text);

  std::FILE* out_;
  bool terminal_;
  int width_;
  Clock clock_;
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point last_shown_;
  double resumed_ = 0;  // the share that an earlier run has done
  bool drawn_ = false;  // a line is visible on the terminal
};

// Examples: "9 s", "2 min 05 s", "1 h 02 min".
std::string readable_time(double seconds);

}  // namespace headgauge::cli
