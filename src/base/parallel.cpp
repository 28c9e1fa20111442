#include "headgauge/parallel.hpp"

#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

namespace headgauge {

struct ThreadPool::Threads {
  explicit Threads(int threads) : arena(threads) {
    const auto wanted = static_cast<std::size_t>(threads);
    const auto parallelism = tbb::global_control::max_allowed_parallelism;
    // TBB allows more threads than cores only if it is told to.
    if (wanted > tbb::global_control::active_value(parallelism)) {
      more_than_cores.emplace(parallelism, wanted);
    }
  }
  std::optional<tbb::global_control> more_than_cores;
  tbb::task_arena arena;
};

namespace {

// Keeps the exception of the smallest i, whichever thread throws first. Every smaller i is still
// called; larger ones are skipped.
class FirstFailure {
 public:
  explicit FirstFailure(Index n) : at_(n) {}
  void call(const std::function<void(Index)>& body, Index i) noexcept {
    if (i > at_.load(std::memory_order_relaxed)) return;
    try {
      body(i);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (i >= at_) return;
      at_ = i;
      error_ = std::current_exception();
    }
  }
  void rethrow() const {
    if (error_ != nullptr) std::rethrow_exception(error_);
  }

 private:
  std::atomic<Index> at_;
  std::mutex mutex_;
  std::exception_ptr error_;
};

}  // namespace

int thread_count(int asked) {
  return std::max(1, asked > 0 ? asked : static_cast<int>(std::thread::hardware_concurrency()));
}

ThreadPool::ThreadPool(int threads)
    : threads_(std::max(1, threads)), arena_(std::make_unique<Threads>(threads_)) {}

ThreadPool::~ThreadPool() = default;

void ThreadPool::for_each(Index n, const std::function<void(Index)>& body) {
  if (threads_ == 1 || n <= 1) {
    for (Index i = 0; i < n; ++i) body(i);
    return;
  }
  FirstFailure failure(n);
  arena_->arena.execute([&] {
    tbb::parallel_for(
        tbb::blocked_range<Index>(0, n, 1),
        [&](const tbb::blocked_range<Index>& range) {
          for (Index i = range.begin(); i != range.end(); ++i) failure.call(body, i);
        },
        tbb::simple_partitioner{});
  });
  failure.rethrow();
}

void ThreadPool::for_each_slot(Index n, const std::function<void(Index, int)>& body) {
  const bool serial = threads_ == 1 || n <= 1;
  for_each(n, [&](Index i) { body(i, serial ? 0 : tbb::this_task_arena::current_thread_index()); });
}

}  // namespace headgauge
