#include "server/thread_pool.h"

#include <utility>

namespace heed {

ThreadPool::ThreadPool(int thread_count, size_t max_queued_bytes)
    : max_queued_bytes_(max_queued_bytes) {
  for (int i = 0; i < thread_count; ++i) threads_.emplace_back([this] { Loop(); });
}

ThreadPool::~ThreadPool() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  for (std::thread& thread : threads_) thread.join();
}

bool ThreadPool::TrySubmit(size_t bytes, std::function<void()> work) {
  absl::MutexLock lock(&mutex_);
  if (!queue_.empty() && queued_bytes_ + bytes > max_queued_bytes_) return false;
  queued_bytes_ += bytes;
  queue_.push_back({bytes, std::move(work)});
  return true;
}

void ThreadPool::Submit(std::function<void()> work) {
  absl::MutexLock lock(&mutex_);
  queue_.push_back({0, std::move(work)});
}

void ThreadPool::Loop() {
  while (true) {
    Entry entry;
    {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(this, &ThreadPool::Ready));
      if (queue_.empty()) return;
      entry = std::move(queue_.front());
      queue_.pop_front();
      queued_bytes_ -= entry.bytes;
    }
    entry.work();
  }
}

}  // namespace heed
