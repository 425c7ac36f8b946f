#include "tests/fakes/fake_clock.h"

#include <algorithm>

namespace heed {

absl::Time FakeClock::Now() const { return absl::FromUnixNanos(now_nanos_.load()); }

bool FakeClock::AwaitUntil(absl::Mutex& mutex, const absl::Condition& condition,
                           absl::Time deadline) {
  const Waiter self{&mutex, deadline};
  {
    absl::MutexLock lock(&mutex_);
    waiters_.push_back(self);
  }
  const auto done = [&] { return condition.Eval() || Now() >= deadline; };
  mutex.Await(absl::Condition(&done));
  {
    absl::MutexLock lock(&mutex_);
    waiters_.erase(std::find(waiters_.begin(), waiters_.end(), self));
  }
  return condition.Eval();
}

void FakeClock::Advance(absl::Duration duration) {
  std::vector<Waiter> waiters;
  {
    absl::MutexLock lock(&mutex_);
    now_nanos_ += absl::ToInt64Nanoseconds(duration);
    waiters = waiters_;
  }
  // Letting go of a mutex makes its waiters look at their conditions again.
  for (const Waiter& waiter : waiters) absl::MutexLock lock(waiter.mutex);
}

void FakeClock::AwaitWaiter(absl::Time deadline) {
  absl::MutexLock lock(&mutex_);
  const auto waits = [&] {
    return std::any_of(waiters_.begin(), waiters_.end(),
                       [&](const Waiter& w) { return w.deadline == deadline; });
  };
  mutex_.Await(absl::Condition(&waits));
}

}  // namespace heed
