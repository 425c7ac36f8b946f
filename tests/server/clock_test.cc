#include "server/clock.h"

#include "gtest/gtest.h"

namespace heed {
namespace {

TEST(RealClockTest, NeverGoesBack) {
  const RealClock clock;
  absl::Time last = clock.Now();
  for (int i = 0; i < 1000; ++i) {
    const absl::Time now = clock.Now();
    ASSERT_GE(now, last);
    last = now;
  }
}

TEST(RealClockTest, WaitEndsWithTheConditionOrTheDeadline) {
  RealClock clock;
  absl::Mutex mutex;
  bool condition = true;
  absl::MutexLock lock(&mutex);
  EXPECT_TRUE(clock.AwaitUntil(mutex, absl::Condition(&condition), absl::InfiniteFuture()));
  EXPECT_TRUE(clock.AwaitUntil(mutex, absl::Condition(&condition), clock.Now()));
  condition = false;
  EXPECT_FALSE(clock.AwaitUntil(mutex, absl::Condition(&condition), clock.Now()));
  const absl::Time deadline = clock.Now() + absl::Milliseconds(1);
  EXPECT_FALSE(clock.AwaitUntil(mutex, absl::Condition(&condition), deadline));
  EXPECT_GE(clock.Now(), deadline);
}

}  // namespace
}  // namespace heed
