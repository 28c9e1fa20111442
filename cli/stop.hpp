// Ctrl-C as a stop token.
#pragma once

#include <stop_token>
#include <thread>

namespace headgauge::cli {

// While it lives, SIGINT and SIGTERM request a stop instead of ending the process. To be made
// before any other thread is.
class StopOnSignal {
 public:
  StopOnSignal();
  ~StopOnSignal();
  std::stop_token token() const { return source_.get_token(); }

 private:
  std::stop_source source_;
  std::jthread watcher_;
};

}  // namespace headgauge::cli
