// Ctrl-C as a stop token.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>

namespace headgauge::cli {

// While it lives, SIGINT, SIGTERM and SIGHUP request a stop instead of ending the process, and a
// second one ends it at once; the same signal within half a second counts as the first. One that
// the process was started to ignore stays ignored. To be made before any other thread is.
class StopOnSignal {
 public:
  // `announce`: says on stderr that the stop was understood.
  explicit StopOnSignal(bool announce = false);
  ~StopOnSignal();
  // From now on a second signal is of no effect: what was measured is being saved.
  void hold() { held_ = true; }
  std::stop_token token() const { return source_.get_token(); }

  // Until loaded(), there is nothing to save: half a second after a signal the process ends,
  // whatever it is doing. `clean_up` is called before, by another thread.
  void loading(std::function<void()> clean_up);
  // Throws InterruptedError where a stop was asked for.
  void loaded();

 private:
  void end_loading(const char* message);  // where it is loading; does not return then

  std::stop_source source_;
  std::atomic<bool> held_ = false;
  std::mutex phase_;
  std::function<void()> clean_up_;  // empty: nothing is loading
  std::jthread watcher_;
};

// For a command that reads and works out, and saves nothing before loaded(): a signal until then
// ends the process with a line.
std::unique_ptr<StopOnSignal> end_on_signal();

}  // namespace headgauge::cli
