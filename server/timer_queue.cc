#include "server/timer_queue.h"

namespace heed {

TimerQueue::TimerQueue(Clock* clock) : clock_(*clock), thread_([this] { Loop(); }) {}

TimerQueue::~TimerQueue() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
    woken_ = true;
  }
  thread_.join();
}

TimerQueue::Id TimerQueue::Schedule(absl::Time when, std::function<void()> callback) {
  absl::MutexLock lock(&mutex_);
  const Id id(when, next_++);
  timers_.emplace(id, std::move(callback));
  // The thread sleeps until the first timer; later ones need not wake it.
  if (timers_.begin()->first == id) woken_ = true;
  return id;
}

void TimerQueue::Cancel(const Id& id) {
  std::function<void()> dropped;  // destroyed without the lock: it may hold the last of something
  absl::MutexLock lock(&mutex_);
  const auto found = timers_.find(id);
  if (found == timers_.end()) return;
  dropped = std::move(found->second);
  timers_.erase(found);
}

void TimerQueue::Loop() {
  while (true) {
    std::function<void()> callback;
    {
      absl::MutexLock lock(&mutex_);
      const absl::Time next =
          timers_.empty() ? absl::InfiniteFuture() : timers_.begin()->first.first;
      clock_.AwaitUntil(mutex_, absl::Condition(this, &TimerQueue::Woken), next);
      woken_ = false;
      if (stopping_) return;
      if (timers_.empty() || timers_.begin()->first.first > clock_.Now()) continue;
      callback = std::move(timers_.begin()->second);
      timers_.erase(timers_.begin());
    }
    callback();
  }
}

}  // namespace heed
