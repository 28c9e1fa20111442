// Ctrl-C as a stop token.
#pragma once

#include <atomic>
#include <stop_token>
#include <thread>

namespace headgauge::cli {

// While it lives, SIGINT and SIGTERM request a stop instead of ending the process, and a second one
// ends it at once. To be made before any other thread is.
class StopOnSignal {
 public:
  // `announce`: says on stderr that the stop was understood.
  explicit StopOnSignal(bool announce = false);
  ~StopOnSignal();
  // From now on a second signal is of no effect: what was measured is being saved.
  void hold() { held_ = true; }
  std::stop_token token() const { return source_.get_token(); }

 private:
  std::stop_source source_;
  std::atomic<bool> held_ = false;
  std::jthread watcher_;
};

}  // namespace headgauge::cli
