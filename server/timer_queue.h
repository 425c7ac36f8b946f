// Calls back at a time, by the injected clock: what ends a wait that nothing else would end.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/clock.h"

namespace heed {

// Safe to call from many threads at once, and from its own callbacks.
class TimerQueue {
 public:
  using Id = std::pair<absl::Time, uint64_t>;

  // `clock` outlives the queue.
  explicit TimerQueue(Clock* clock);
  // Drops what has not run; a callback that runs ends first.
  ~TimerQueue();

  TimerQueue(const TimerQueue&) = delete;
  TimerQueue& operator=(const TimerQueue&) = delete;

  // Runs `callback` once at `when`, on the queue's one thread: it must be quick.
  Id Schedule(absl::Time when, std::function<void()> callback);
  // Forgets a callback; does nothing, and does not wait, when it has begun or was cancelled.
  void Cancel(const Id& id);

 private:
  bool Woken() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return woken_; }
  void Loop();

  Clock& clock_;
  absl::Mutex mutex_;
  std::map<Id, std::function<void()>> timers_ ABSL_GUARDED_BY(mutex_);
  uint64_t next_ ABSL_GUARDED_BY(mutex_) = 0;
  bool woken_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace heed
