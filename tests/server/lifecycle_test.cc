#include "server/lifecycle.h"

#include <thread>

#include "gtest/gtest.h"
#include "model/api/error.h"
#include "tests/fakes/fake_clock.h"

namespace heed {
namespace {

TEST(LifecycleTest, RefusesUntilServingAndOnceDraining) {
  FakeClock clock;
  Lifecycle lifecycle(&clock);
  EXPECT_EQ(GetErrorDetail(lifecycle.Enter()).reason, "LOADING");
  lifecycle.SetServing();
  EXPECT_TRUE(lifecycle.Enter().ok());
  lifecycle.SetDraining();
  const absl::Status status = lifecycle.Enter();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(GetErrorDetail(status).reason, "DRAINING");
  lifecycle.SetServing();  // a model that loads late does not undo a shutdown
  EXPECT_FALSE(lifecycle.Enter().ok());
}

TEST(LifecycleTest, IdleOnceTheLastRequestLeaves) {
  FakeClock clock;
  Lifecycle lifecycle(&clock);
  lifecycle.SetServing();
  EXPECT_TRUE(lifecycle.AwaitIdle(clock.Now()));
  ASSERT_TRUE(lifecycle.Enter().ok());
  std::thread leaver([&] {
    clock.AwaitWaiter(absl::InfiniteFuture());
    lifecycle.Leave();
  });
  EXPECT_TRUE(lifecycle.AwaitIdle(absl::InfiniteFuture()));
  leaver.join();
}

TEST(LifecycleTest, GivesUpAtTheDeadline) {
  FakeClock clock;
  Lifecycle lifecycle(&clock);
  lifecycle.SetServing();
  ASSERT_TRUE(lifecycle.Enter().ok());
  const absl::Time deadline = clock.Now() + absl::Seconds(30);
  std::thread mover([&] {
    clock.AwaitWaiter(deadline);
    clock.Advance(absl::Seconds(30));
  });
  EXPECT_FALSE(lifecycle.AwaitIdle(deadline));
  mover.join();
}

}  // namespace
}  // namespace heed
