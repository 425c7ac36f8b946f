// A clock that stands still until a test moves it.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/clock.h"

namespace heed {

class FakeClock : public Clock {
 public:
  absl::Time Now() const override;
  bool AwaitUntil(absl::Mutex& mutex, const absl::Condition& condition,
                  absl::Time deadline) override;

  // Moves time on and wakes who waited for it.
  void Advance(absl::Duration duration);

  // Blocks until some thread waits until exactly `deadline`: what a test does before it moves
  // time, so that no outcome depends on which thread is faster.
  void AwaitWaiter(absl::Time deadline);

 private:
  struct Waiter {
    absl::Mutex* mutex;
    absl::Time deadline;
    bool operator==(const Waiter&) const = default;
  };

  mutable absl::Mutex mutex_;  // never held while a waiter's mutex is taken
  // Read inside conditions, in which Abseil allows no lock.
  std::atomic<int64_t> now_nanos_ = 0;
  std::vector<Waiter> waiters_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace heed
