#include "server/thread_pool.h"

#include <atomic>

#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"

namespace heed {
namespace {

TEST(ThreadPoolTest, RunsEverythingBeforeItEnds) {
  std::atomic<int> runs{0};
  {
    ThreadPool pool(3, 1 << 20);
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(pool.TrySubmit(1, [&] { ++runs; }));
    for (int i = 0; i < 100; ++i) pool.Submit([&] { ++runs; });
  }
  EXPECT_EQ(runs, 200);
}

TEST(ThreadPoolTest, RefusesWorkBeyondItsBytes) {
  absl::Notification running, release;
  std::atomic<int> runs{0};
  {
    ThreadPool pool(1, 100);
    pool.Submit([&] {
      running.Notify();
      release.WaitForNotification();
    });
    running.WaitForNotification();
    // Nothing waits, so even work above the limit gets in.
    EXPECT_TRUE(pool.TrySubmit(150, [&] { ++runs; }));
    EXPECT_FALSE(pool.TrySubmit(1, [&] { ++runs; }));
    pool.Submit([&] { ++runs; });
    release.Notify();
  }
  EXPECT_EQ(runs, 2);
}

}  // namespace
}  // namespace heed
