// Where the server stands between start and exit, and how many requests it still owes an answer:
// what decides whether a new request is let in and when a shutdown may go on.
#pragma once

#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/clock.h"

namespace heed {

// Safe to call from many threads at once.
class Lifecycle {
 public:
  // Starts as loading: every request is refused.
  explicit Lifecycle(Clock* clock) : clock_(*clock) {}

  // Lets requests in.
  void SetServing();
  // Refuses new requests for good; those already in go on.
  void SetDraining();

  // Counts a request in. UNAVAILABLE with reason LOADING or DRAINING when it may not come in; each
  // OK needs one Leave().
  absl::Status Enter();
  void Leave();

  // Waits until no request is in, at most until `deadline`. Returns whether none is.
  bool AwaitIdle(absl::Time deadline);

 private:
  enum class State { kLoading, kServing, kDraining };

  bool Idle() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return in_flight_ == 0; }

  Clock& clock_;
  absl::Mutex mutex_;
  State state_ ABSL_GUARDED_BY(mutex_) = State::kLoading;
  int64_t in_flight_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace heed
