// A few threads for work that must not hold up the threads that read from the network:
// tokenizing long requests and building long replies.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace heed {

// Safe to call from many threads at once.
class ThreadPool {
 public:
  // `max_queued_bytes` bounds what the waiting work may hold in memory.
  ThreadPool(int thread_count, size_t max_queued_bytes);
  // Runs what was accepted, then joins.
  ~ThreadPool();

  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // Queues `work`, which holds about `bytes` of memory. False, without running it, when the
  // waiting work would pass the limit; work that meets no waiting work is always accepted.
  bool TrySubmit(size_t bytes, std::function<void()> work);

  // Queues `work` whatever waits: for steps of requests that were accepted already.
  void Submit(std::function<void()> work);

 private:
  struct Entry {
    size_t bytes = 0;
    std::function<void()> work;
  };

  bool Ready() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stopping_ || !queue_.empty(); }
  void Loop();

  const size_t max_queued_bytes_;
  absl::Mutex mutex_;
  std::deque<Entry> queue_ ABSL_GUARDED_BY(mutex_);
  size_t queued_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace heed
