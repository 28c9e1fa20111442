#include "cli/stop.hpp"

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <ctime>
#include <string_view>
#include <utility>

#include "cli/last_words.hpp"
#include "headgauge/base.hpp"

namespace headgauge::cli {
namespace {

constexpr const char* kNothingDone = "interrupted before anything was finished; nothing was saved";
constexpr int kPatience = 5;  // tenths of a second in which loading may end by itself
// One stop may arrive as two signals: timeout(1) sends its signal to the process and to its group.
constexpr std::chrono::milliseconds kOneStop{500};
constexpr int kWake = SIGURG;  // wakes the watcher; the system ignores this signal by default

// Returns the signals that were not ignored at the start of the command (nohup and background jobs
// of scripts ignore some).
sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction inherited {};
    ::sigaction(signal, nullptr, &inherited);
    if (inherited.sa_handler != SIG_IGN) sigaddset(&set, signal);
  }
  return set;
}

sigset_t watched_signals() {
  sigset_t set = stop_signals();
  sigaddset(&set, kWake);
  return set;
}

void say(std::string_view text) {
  static_cast<void>(!::write(STDERR_FILENO, text.data(), text.size()));
}

}  // namespace

StopOnSignal::StopOnSignal(bool announce) {
  // Blocks the signals here and so in all threads created later; only the watcher receives them.
  const sigset_t set = watched_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  watcher_ = std::jthread([this, announce](const std::stop_token& ended) {
    const sigset_t signals = watched_signals();
    const timespec tenth{0, 100'000'000};
    int since = 0;
    int first = 0;
    std::chrono::steady_clock::time_point arrived;
    while (!ended.stop_requested()) {
      const int signal = sigtimedwait(&signals, nullptr, &tenth);
      if (signal == kWake) continue;
      if (signal <= 0) {
        if (source_.stop_requested() && ++since >= kPatience) end_loading(kNothingDone);
        continue;
      }
      const auto now = std::chrono::steady_clock::now();
      if (source_.request_stop()) {
        first = signal;
        arrived = now;
      } else {
        if (held_ || (signal == first && now - arrived < kOneStop)) continue;
        end_loading("stopped at once; nothing was saved");
        end_at_once(ErrorKind::interrupted, "stopped at once; unsaved results are lost");
      }
      // Overwrites the progress bar, which is drawn again below.
      if (announce) say("\r\x1b[KStopping; Ctrl-C again stops at once.\n");
    }
  });
}

StopOnSignal::~StopOnSignal() {
  watcher_.request_stop();
  pthread_kill(watcher_.native_handle(), kWake);
  watcher_.join();
  const sigset_t set = watched_signals();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

void StopOnSignal::loading(std::function<void()> clean_up) {
  const std::lock_guard lock(phase_);
  clean_up_ = std::move(clean_up);
}

void StopOnSignal::loaded() {
  loading({});
  if (source_.stop_requested()) throw InterruptedError(kNothingDone);
}

std::unique_ptr<StopOnSignal> end_on_signal() {
  auto signal = std::make_unique<StopOnSignal>();
  signal->loading([] {});
  return signal;
}

void StopOnSignal::end_loading(const char* message) {
  const std::lock_guard lock(phase_);
  if (!clean_up_) return;
  clean_up_();
  end_at_once(ErrorKind::interrupted, message);
}

}  // namespace headgauge::cli
