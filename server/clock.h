// Time as the server sees it, injected so that every decision that depends on time can be tested
// without waiting for it.
#pragma once

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace heed {

// Safe to call from many threads at once.
class Clock {
 public:
  virtual ~Clock() = default;

  // Never goes back.
  virtual absl::Time Now() const = 0;

  // Waits until `condition` holds or Now() reaches `deadline`. `mutex` is held at call and return,
  // and released in between. Returns whether the condition holds.
  virtual bool AwaitUntil(absl::Mutex& mutex, const absl::Condition& condition,
                          absl::Time deadline) = 0;
};

// The clock of the machine: starts at the wall clock's time and then follows the monotonic one, so
// that setting the wall clock neither expires a request nor revives one.
class RealClock : public Clock {
 public:
  RealClock();

  absl::Time Now() const override;
  bool AwaitUntil(absl::Mutex& mutex, const absl::Condition& condition,
                  absl::Time deadline) override;

 private:
  absl::Time wall_start_;
  int64_t steady_start_nanos_;
};

}  // namespace heed
