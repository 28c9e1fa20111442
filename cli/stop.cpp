#include "cli/stop.hpp"

#include <csignal>
#include <ctime>

namespace headgauge::cli {
namespace {

sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

}  // namespace

StopOnSignal::StopOnSignal() {
  // Blocked here and so in all threads made later; the watcher alone takes them.
  const sigset_t set = stop_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  watcher_ = std::jthread([this](std::stop_token ended) {
    const sigset_t signals = stop_signals();
    const timespec tenth{0, 100'000'000};
    while (!ended.stop_requested()) {
      if (sigtimedwait(&signals, nullptr, &tenth) > 0) source_.request_stop();
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
