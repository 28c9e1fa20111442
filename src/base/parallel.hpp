// Deterministic parallel loops: every index writes only its own output, so the result does not
// depend on the number of threads or on the order in which they ran.
#pragma once

#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <memory>

#include "headgauge/base.hpp"

namespace headgauge {

// A fixed number of threads that loops run on.
class ThreadPool {
 public:
  explicit ThreadPool(int threads) : threads_(std::max(1, threads)), arena_(threads_) {
    const auto wanted = static_cast<std::size_t>(threads_);
    const auto parallelism = tbb::global_control::max_allowed_parallelism;
    // More threads than cores are allowed, but TBB wants to be told.
    if (wanted > tbb::global_control::active_value(parallelism)) {
      more_than_cores_ = std::make_unique<tbb::global_control>(parallelism, wanted);
    }
  }
  int threads() const { return threads_; }

  // Calls body(i) for every i in [0, n), each exactly once, in any order and on any thread.
  // An exception thrown by a body is rethrown here after the loop has stopped.
  template <class Body>
  void for_each(Index n, const Body& body) {
    if (threads_ == 1 || n <= 1) {
      for (Index i = 0; i < n; ++i) body(i);
      return;
    }
    arena_.execute([&] {
      tbb::parallel_for(
          tbb::blocked_range<Index>(0, n, 1),
          [&](const tbb::blocked_range<Index>& range) {
            for (Index i = range.begin(); i != range.end(); ++i) body(i);
          },
          tbb::simple_partitioner{});
    });
  }

  // As for_each, but body(i, slot) also gets the index in [0, threads) of a workspace that no
  // other call uses at the same time. Not to be nested.
  template <class Body>
  void for_each_slot(Index n, const Body& body) {
    const bool serial = threads_ == 1 || n <= 1;
    for_each(n,
             [&](Index i) { body(i, serial ? 0 : tbb::this_task_arena::current_thread_index()); });
  }

 private:
  int threads_;
  std::unique_ptr<tbb::global_control> more_than_cores_;
  tbb::task_arena arena_;
};

}  // namespace headgauge
