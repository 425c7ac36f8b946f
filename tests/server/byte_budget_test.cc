#include "server/byte_budget.h"

#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace heed {
namespace {

TEST(ByteBudgetTest, TakesUntilFullAndGivesBack) {
  prometheus::Gauge gauge;
  ByteBudget budget(100, &gauge);
  auto first = budget.TryReserve(60);
  ASSERT_TRUE(first);
  EXPECT_FALSE(budget.TryReserve(41));
  auto second = budget.TryReserve(40);
  ASSERT_TRUE(second);
  EXPECT_EQ(budget.used(), 100u);
  EXPECT_EQ(gauge.Value(), 100);
  first.reset();
  EXPECT_EQ(budget.used(), 40u);
  *second = {};
  EXPECT_EQ(budget.used(), 0u);
  EXPECT_EQ(gauge.Value(), 0);
}

TEST(ByteBudgetTest, MoreThanTheLimitNeverFits) {
  ByteBudget budget(100);
  EXPECT_FALSE(budget.TryReserve(101));
  EXPECT_FALSE(budget.TryReserve(static_cast<size_t>(-1)));
}

TEST(ByteBudgetTest, ManyThreadsNeverPassTheLimit) {
  ByteBudget budget(10);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        const auto held = budget.TryReserve(3);
        EXPECT_LE(budget.used(), 10u);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(budget.used(), 0u);
}

}  // namespace
}  // namespace heed
