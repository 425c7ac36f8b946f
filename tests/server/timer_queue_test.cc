#include "server/timer_queue.h"

#include <memory>
#include <vector>

#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"
#include "tests/fakes/fake_clock.h"

namespace heed {
namespace {

TEST(TimerQueueTest, RunsInTheOrderOfTime) {
  FakeClock clock;
  TimerQueue timers(&clock);
  const absl::Time start = clock.Now();
  std::vector<int> order;
  absl::Notification first;
  absl::Notification last;
  timers.Schedule(start + absl::Seconds(2), [&] {
    order.push_back(2);
    last.Notify();
  });
  timers.Schedule(start + absl::Seconds(1), [&] {
    order.push_back(1);
    first.Notify();
  });
  clock.AwaitWaiter(start + absl::Seconds(1));
  clock.Advance(absl::Seconds(1));
  first.WaitForNotification();
  clock.AwaitWaiter(start + absl::Seconds(2));
  clock.Advance(absl::Seconds(1));
  last.WaitForNotification();
  EXPECT_EQ(order, std::vector<int>({1, 2}));
}

TEST(TimerQueueTest, CancelledTimersDoNotRun) {
  FakeClock clock;
  TimerQueue timers(&clock);
  const absl::Time when = clock.Now() + absl::Seconds(1);
  const auto held = std::make_shared<int>(0);
  bool ran = false;
  const TimerQueue::Id id = timers.Schedule(when, [&ran, held] { ran = true; });
  absl::Notification after;
  timers.Schedule(when, [&] { after.Notify(); });
  EXPECT_EQ(held.use_count(), 2);
  timers.Cancel(id);
  timers.Cancel(id);
  EXPECT_EQ(held.use_count(), 1);
  clock.Advance(absl::Seconds(1));
  after.WaitForNotification();
  EXPECT_FALSE(ran);
}

TEST(TimerQueueTest, CallbacksMayScheduleAndTheEndDropsTheRest) {
  FakeClock clock;
  const auto held = std::make_shared<int>(0);
  {
    TimerQueue timers(&clock);
    absl::Notification done;
    timers.Schedule(clock.Now(), [&] { timers.Schedule(clock.Now(), [&] { done.Notify(); }); });
    timers.Schedule(absl::InfiniteFuture(), [held] {});
    done.WaitForNotification();
  }
  EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace heed
