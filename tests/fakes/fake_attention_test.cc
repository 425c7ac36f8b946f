#include "tests/fakes/fake_attention.h"

#include <cmath>
#include <numeric>

#include "gtest/gtest.h"
#include "tests/fakes/fake_model.h"

namespace heed {
namespace {

CaptureRequest Everything(AttentionForm form) {
  CaptureRequest request;
  request.layers = {0, 1};
  request.heads = {0, 1, 2};
  request.form = form;
  return request;
}

TEST(FakeAttentionTest, WeightsFollowFromTheirPlace) {
  // Layer 1, head 2, query 0: 1 + (5 + 5 key) mod 7 = 6, 4, 2.
  EXPECT_DOUBLE_EQ(FakeWeight(1, 2, 0, 0, 3), 6.0 / 12);
  EXPECT_DOUBLE_EQ(FakeWeight(1, 2, 0, 2, 3), 2.0 / 12);
  const auto reads = std::make_shared<FakeReads>();
  const FakeAttentionSource source(Everything(AttentionForm::kWeights), 3, reads);
  const auto map = source.Read(1, {2, 0}, 0, 2);
  ASSERT_TRUE(map.ok());
  EXPECT_EQ(map->head_count, 2);
  EXPECT_EQ(map->key_count, 3);
  ASSERT_EQ(map->weights.size(), 12u);
  EXPECT_FLOAT_EQ(map->weights[0], 0.5f);
  EXPECT_FLOAT_EQ(map->weights[9], static_cast<float>(FakeWeight(1, 0, 1, 0, 3)));
  EXPECT_EQ(reads->count(), 1u);
  EXPECT_EQ(reads->alive(), 1);
  EXPECT_FALSE(source.Read(2, {0}, 0, 1).ok());
  EXPECT_FALSE(source.Read(0, {3}, 0, 1).ok());
}

TEST(FakeAttentionTest, ReducedRowsAreOneNumber) {
  const auto reads = std::make_shared<FakeReads>();
  const FakeAttentionSource entropy(Everything(AttentionForm::kEntropy), 2, reads);
  const double p = FakeWeight(0, 1, 1, 0, 2);
  EXPECT_FLOAT_EQ(entropy.Read(0, {1}, 1, 2)->weights.at(0),
                  static_cast<float>(-p * std::log(p) - (1 - p) * std::log(1 - p)));
  const FakeAttentionSource distance(Everything(AttentionForm::kMeanDistance), 2, reads);
  EXPECT_FLOAT_EQ(distance.Read(0, {1}, 1, 2)->weights.at(0), static_cast<float>(p));
}

TEST(FakeAttentionTest, RolloutRowsSumToOne) {
  const auto reads = std::make_shared<FakeReads>();
  const FakeAttentionSource source(Everything(AttentionForm::kMeanHeads), 4, reads);
  const auto map = source.Rollout({2});
  EXPECT_NEAR(std::accumulate(map->weights.begin(), map->weights.end(), 0.0), 1, 1e-6);
}

TEST(FakeAttentionTest, RunnerGivesWhatIsWanted) {
  const FakeRunner runner;
  RaggedBatch batch;
  batch.Append(MakeIds(2, 3));
  TokenIds bare = MakeIds(1, 5);
  bare.positions_disabled = true;
  batch.Append(bare);
  Wants wants;
  wants.captures.push_back({1, {}, {}, AttentionForm::kWeights, false, 0, -1});
  wants.importance.push_back({0, Importance::kRolloutCls});
  wants.last_hidden_state = true;
  const auto output = runner.Run(batch, wants);
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(output->captures.at(0)->Read(0, {}, 0, 1)->head_count, 4);
  EXPECT_EQ(output->importance.at(0), std::vector<float>({1.0f / 3, 2.0f / 3}));
  ASSERT_EQ(output->last_hidden_state.size(), 3u * 8);
  EXPECT_EQ(output->last_hidden_state[9], 3 + 1 + 0.25f);  // id + column + position / 4
  EXPECT_EQ(output->last_hidden_state[16], 5);
}

}  // namespace
}  // namespace heed
