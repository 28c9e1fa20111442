#include "headgauge/parallel.hpp"

#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <optional>

namespace headgauge {

struct ThreadPool::Threads {
  explicit Threads(int threads) : arena(threads) {
    const auto wanted = static_cast<std::size_t>(threads);
    const auto parallelism = tbb::global_control::max_allowed_parallelism;
    // More threads than cores are allowed, but TBB has to know.
    if (wanted > tbb::global_control::active_value(parallelism)) {
      more_than_cores.emplace(parallelism, wanted);
    }
  }
  std::optional<tbb::global_control> more_than_cores;
  tbb::task_arena arena;
};

ThreadPool::ThreadPool(int threads)
    : threads_(std::max(1, threads)), arena_(std::make_unique<Threads>(threads_)) {}

ThreadPool::~ThreadPool() = default;

void ThreadPool::for_each(Index n, const std::function<void(Index)>& body) {
  if (threads_ == 1 || n <= 1) {
    for (Index i = 0; i < n; ++i) body(i);
    return;
  }
  arena_->arena.execute([&] {
    tbb::parallel_for(
        tbb::blocked_range<Index>(0, n, 1),
        [&](const tbb::blocked_range<Index>& range) {
          for (Index i = range.begin(); i != range.end(); ++i) body(i);
        },
        tbb::simple_partitioner{});
  });
}

void ThreadPool::for_each_slot(Index n, const std::function<void(Index, int)>& body) {
  const bool serial = threads_ == 1 || n <= 1;
  for_each(n, [&](Index i) { body(i, serial ? 0 : tbb::this_task_arena::current_thread_index()); });
}

}  // namespace headgauge
