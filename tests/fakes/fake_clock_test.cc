#include "tests/fakes/fake_clock.h"

#include <thread>

#include "gtest/gtest.h"

namespace heed {
namespace {

TEST(FakeClockTest, StandsStillUntilMoved) {
  FakeClock clock;
  const absl::Time start = clock.Now();
  EXPECT_EQ(clock.Now(), start);
  clock.Advance(absl::Seconds(3));
  EXPECT_EQ(clock.Now(), start + absl::Seconds(3));
}

TEST(FakeClockTest, WaitEndsWithTheConditionOrTheTime) {
  FakeClock clock;
  absl::Mutex mutex;
  bool condition = false;
  const absl::Time deadline = clock.Now() + absl::Seconds(5);
  for (const bool by_condition : {false, true}) {
    std::thread other([&] {
      clock.AwaitWaiter(by_condition ? absl::InfiniteFuture() : deadline);
      if (!by_condition) return clock.Advance(absl::Seconds(5));
      absl::MutexLock lock(&mutex);
      condition = true;
    });
    {
      absl::MutexLock lock(&mutex);
      EXPECT_EQ(clock.AwaitUntil(mutex, absl::Condition(&condition),
                                 by_condition ? absl::InfiniteFuture() : deadline),
                by_condition);
    }
    other.join();
  }
}

}  // namespace
}  // namespace heed
