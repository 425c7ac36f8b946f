#include "server/batch_policy.h"

#include <vector>

#include "gtest/gtest.h"

namespace heed {
namespace {

const absl::Time kNow = absl::UnixEpoch() + absl::Hours(1);

BatchLimits Limits() {
  BatchLimits limits;
  limits.max_batch_tokens = 100;
  limits.max_batch_texts = 4;
  limits.max_queue_delay = absl::ZeroDuration();
  limits.queue_timeout = absl::Seconds(30);
  return limits;
}

QueuedText Text(size_t tokens, absl::Duration age = absl::ZeroDuration()) {
  QueuedText text;
  text.tokens = tokens;
  text.enqueued = kNow - age;
  return text;
}

using Indices = std::vector<size_t>;

TEST(BatchPolicyTest, EmptyQueueWaitsForSomethingToHappen) {
  const BatchDecision decision = Decide({}, Limits(), kNow);
  EXPECT_TRUE(decision.take.empty());
  EXPECT_TRUE(decision.expired.empty());
  EXPECT_EQ(decision.next_look, absl::InfiniteFuture());
}

TEST(BatchPolicyTest, LoneTextRunsAtOnceWithoutDelay) {
  EXPECT_EQ(Decide({Text(5)}, Limits(), kNow).take, Indices({0}));
}

TEST(BatchPolicyTest, TakesTheLongestPrefixWithinTheTokenBudget) {
  const std::vector<QueuedText> queue{Text(40), Text(40), Text(40), Text(1)};
  // The last would fit, but nobody overtakes.
  EXPECT_EQ(Decide(queue, Limits(), kNow).take, Indices({0, 1}));
}

TEST(BatchPolicyTest, FillsTheTokenBudgetExactly) {
  EXPECT_EQ(Decide({Text(60), Text(40), Text(1)}, Limits(), kNow).take, Indices({0, 1}));
}

TEST(BatchPolicyTest, TakesNoMoreThanTheTextBudget) {
  EXPECT_EQ(Decide(std::vector<QueuedText>(6, Text(1)), Limits(), kNow).take,
            Indices({0, 1, 2, 3}));
}

TEST(BatchPolicyTest, TextAboveTheBudgetRunsAlone) {
  EXPECT_EQ(Decide({Text(500), Text(1)}, Limits(), kNow).take, Indices({0}));
  EXPECT_EQ(Decide({Text(1), Text(500)}, Limits(), kNow).take, Indices({0}));
}

TEST(BatchPolicyTest, WaitsForCompanyUntilTheOldestHasWaitedTheDelay) {
  BatchLimits limits = Limits();
  limits.max_queue_delay = absl::Milliseconds(5);
  const std::vector<QueuedText> queue{Text(5, absl::Milliseconds(2)), Text(5)};
  BatchDecision decision = Decide(queue, limits, kNow);
  EXPECT_TRUE(decision.take.empty());
  EXPECT_EQ(decision.next_look, kNow + absl::Milliseconds(3));
  decision = Decide(queue, limits, kNow + absl::Milliseconds(3));
  EXPECT_EQ(decision.take, Indices({0, 1}));
}

TEST(BatchPolicyTest, FullBatchDoesNotWait) {
  BatchLimits limits = Limits();
  limits.max_queue_delay = absl::Seconds(1);
  EXPECT_EQ(Decide({Text(60), Text(60)}, limits, kNow).take, Indices({0}));
  EXPECT_EQ(Decide({Text(100)}, limits, kNow).take, Indices({0}));
  EXPECT_EQ(Decide(std::vector<QueuedText>(4, Text(1)), limits, kNow).take.size(), 4u);
}

TEST(BatchPolicyTest, PassedDeadlineExpiresBeforeCompute) {
  std::vector<QueuedText> queue{Text(5), Text(5)};
  queue[0].deadline = kNow;
  const BatchDecision decision = Decide(queue, Limits(), kNow);
  ASSERT_EQ(decision.expired.size(), 1u);
  EXPECT_EQ(decision.expired[0].index, 0u);
  EXPECT_EQ(decision.expired[0].why, Expiry::kDeadline);
  EXPECT_EQ(decision.take, Indices({1}));
}

TEST(BatchPolicyTest, WaitLimitExpiresOnlyWhatHasNotStarted) {
  std::vector<QueuedText> queue{Text(5, absl::Seconds(30)), Text(5, absl::Seconds(30))};
  queue[1].started = true;
  const BatchDecision decision = Decide(queue, Limits(), kNow);
  ASSERT_EQ(decision.expired.size(), 1u);
  EXPECT_EQ(decision.expired[0].why, Expiry::kQueueTimeout);
  EXPECT_EQ(decision.take, Indices({1}));
}

TEST(BatchPolicyTest, LooksAgainWhenTheFirstDeadlinePasses) {
  BatchLimits limits = Limits();
  limits.max_queue_delay = absl::Seconds(10);
  std::vector<QueuedText> queue{Text(5), Text(5)};
  queue[1].deadline = kNow + absl::Seconds(3);
  EXPECT_EQ(Decide(queue, limits, kNow).next_look, kNow + absl::Seconds(3));
  limits.queue_timeout = absl::Seconds(2);
  EXPECT_EQ(Decide(queue, limits, kNow).next_look, kNow + absl::Seconds(2));
}

TEST(BatchPolicyTest, ExpiredTextsTakeNoBudget) {
  std::vector<QueuedText> queue{Text(90), Text(90)};
  queue[0].deadline = kNow - absl::Seconds(1);
  EXPECT_EQ(Decide(queue, Limits(), kNow).take, Indices({1}));
}

}  // namespace
}  // namespace heed
