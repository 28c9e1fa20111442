// Deterministic parallel loops: every index writes only its own output, so that the result does not
// depend on the number of threads or on the order in which they run.
#pragma once

#include <functional>
#include <memory>

#include "headgauge/base.hpp"

namespace headgauge {

// Returns the number of threads that an option asks for: at least one, and one per core for 0.
int thread_count(int asked);

// A fixed number of threads that run loops.
class ThreadPool {
 public:
  // Uses at least one thread; there may be more threads than cores.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  int threads() const { return threads_; }

  // Calls body(i) for every i in [0, n), each exactly once, in any order and on any thread. If
  // bodies throw, the exception of the smallest i is rethrown after the loop has stopped, whatever
  // the number of threads; larger i may be skipped then.
  void for_each(Index n, const std::function<void(Index)>& body);

  // Does the same as for_each, but body(i, slot) also gets the index in [0, threads) of a workspace
  // that no other call uses at the same time. Calls must not be nested.
  void for_each_slot(Index n, const std::function<void(Index, int)>& body);

 private:
  struct Threads;
  int threads_;
  std::unique_ptr<Threads> arena_;
};

}  // namespace headgauge
