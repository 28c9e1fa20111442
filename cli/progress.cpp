#include "cli/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "headgauge/text.hpp"

namespace headgauge::cli {
namespace {

using Seconds = std::chrono::duration<double>;

constexpr Seconds kRedraw{0.1};     // interval on a terminal
constexpr Seconds kLogLine{5.0};    // interval otherwise
constexpr double kSurePart = 0.02;  // the time left is shown from this share of the work on
constexpr int kBarWidth = 24;

}  // namespace

std::string readable_time(double seconds) {
  const auto whole = static_cast<long long>(std::ceil(std::max(0.0, seconds)));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

ProgressBar::ProgressBar(std::FILE* out, bool terminal, int width, Clock clock)
    : out_(out),
      terminal_(terminal),
      width_(width),
      clock_(std::move(clock)),
      start_(clock_()),
      last_shown_(start_) {}

void ProgressBar::update(std::string_view what, double done, double total) {
  const auto now = clock_();
  const double share = total > 0 ? std::clamp(done / total, 0.0, 1.0) : 0.0;
  if (share <= resumed_) start_ = now;
  const Seconds pause = terminal_ ? kRedraw : kLogLine;
  // Draws the first line on a terminal at once, so that the user sees that work has begun.
  if (now - last_shown_ < pause && (drawn_ || !terminal_)) return;
  last_shown_ = now;

  const double elapsed = Seconds(now - start_).count(), here = share - resumed_;
  std::string tail = fmt::format("{:3.0f} %", 100 * share);
  if (here >= kSurePart && elapsed > 0 && share < 1) {
    tail += fmt::format("  {} left", readable_time(elapsed * (1 - share) / here));
  }
  const std::string shown = legible(what);
  if (!terminal_) {
    put(fmt::format("{}: {}\n", shown, tail));
    return;
  }
  const int filled = static_cast<int>(std::lround(share * kBarWidth));
  std::string line =
      fmt::format("{} [{:#<{}}{:.<{}}] {}", shown, "", filled, "", kBarWidth - filled, tail);
  // A wrapped line could not be erased.
  line.resize(std::min(line.size(), static_cast<std::size_t>(std::max(0, width_ - 1))));
  drawn_ = true;
  put("\r\x1b[K" + line);
}

void ProgressBar::clear() {
  if (!std::exchange(drawn_, false)) return;
  put("\r\x1b[K");
}

void ProgressBar::put(const std::string& text) {
  // A failure to show progress must not stop the work.
  static_cast<void>(std::fwrite(text.data(), 1, text.size(), out_));
  static_cast<void>(std::fflush(out_));
}

}  // namespace headgauge::cli
