#include "cli/stop.hpp"

#include <unistd.h>

#include <csignal>
#include <ctime>
#include <string_view>

#include "headgauge/base.hpp"

namespace headgauge::cli {
namespace {

sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

void say(std::string_view text) {
  static_cast<void>(!::write(STDERR_FILENO, text.data(), text.size()));
}

}  // namespace

StopOnSignal::StopOnSignal(bool announce) {
  // Blocked here and so in all threads made later; the watcher alone takes them.
  const sigset_t set = stop_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  watcher_ = std::jthread([this, announce](const std::stop_token& ended) {
    const sigset_t signals = stop_signals();
    const timespec tenth{0, 100'000'000};
    while (!ended.stop_requested()) {
      if (sigtimedwait(&signals, nullptr, &tenth) <= 0) continue;
      if (!source_.request_stop()) {
        if (held_) continue;
        say("\nheadgauge: stopped at once; what was not yet saved is lost\n");
        ::_exit(static_cast<int>(ErrorKind::interrupted));
      }
      // Over the progress bar, which is drawn again below.
      if (announce) say("\r\x1b[KStopping after this head; Ctrl-C again stops at once.\n");
    }
  });
}

StopOnSignal::~StopOnSignal() {
  watcher_.request_stop();
  watcher_.join();
  const sigset_t set = stop_signals();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

}  // namespace headgauge::cli
