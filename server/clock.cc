#include "server/clock.h"

#include <chrono>

#include "absl/time/clock.h"

namespace heed {
namespace {

int64_t SteadyNanos() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

RealClock::RealClock() : wall_start_(absl::Now()), steady_start_nanos_(SteadyNanos()) {}

absl::Time RealClock::Now() const {
  return wall_start_ + absl::Nanoseconds(SteadyNanos() - steady_start_nanos_);
}

bool RealClock::AwaitUntil(absl::Mutex& mutex, const absl::Condition& condition,
                           absl::Time deadline) {
  if (deadline == absl::InfiniteFuture()) {
    mutex.Await(condition);
    return true;
  }
  return mutex.AwaitWithTimeout(condition, deadline - Now());
}

}  // namespace heed
