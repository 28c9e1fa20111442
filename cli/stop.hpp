// Turns Ctrl-C into a stop token.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>

namespace headgauge::cli {

// While the object exists, SIGINT, SIGTERM and SIGHUP request a stop instead of ending the process;
// a second signal ends it at once, but the same signal within half a second counts as the first.
// Signals that the process ignored at its start stay ignored. Create the object before any other
// thread.
class StopOnSignal {
 public:
  // `announce`: prints on stderr that the stop was requested.
  explicit StopOnSignal(bool announce = false);
  ~StopOnSignal();
  // Ignores further signals from now on, while results are being saved.
  void hold() { held_ = true; }
  std::stop_token token() const { return source_.get_token(); }

  // Until loaded() there is nothing to save: half a second after a signal the process ends,
  // whatever it is doing. Another thread calls `clean_up` first.
  void loading(std::function<void()> clean_up);
  // Throws InterruptedError if a stop was requested.
  void loaded();

 private:
  void end_loading(const char* message);  // does not return while loading

  std::stop_source source_;
  std::atomic<bool> held_ = false;
  std::mutex phase_;
  std::function<void()> clean_up_;  // empty: nothing is loading
  std::jthread watcher_;
};

// For a command that saves nothing before loaded(): until then a signal ends the process with one
// line.
std::unique_ptr<StopOnSignal> end_on_signal();

}  // namespace headgauge::cli
