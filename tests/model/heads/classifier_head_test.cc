#include "model/heads/classifier_head.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/model/encoder/fake_weights.h"

namespace heed {
namespace {

RaggedBatch TwoTexts() {
  RaggedBatch batch;
  batch.Append({{1, 2, 3}, {0, 0, 0}, {}, {}});
  batch.Append({{4}, {0}, {}, {}});
  return batch;
}

// Logits of a head of width 1 whose classifier's rows are (1, 0) and (-2, 3): weight, bias.
at::Tensor Logits(const HeadConfig& head, const std::vector<float>& x, const RaggedBatch& batch) {
  FakeWeights weights;
  weights.Add("head.dense.weight", {1, 1}, {0.5F});
  weights.Add("head.dense.bias", {1}, {0.25F});
  weights.Add("classifier.weight", {2, 1}, {1.F, -2.F});
  weights.Add("classifier.bias", {2}, {0.F, 3.F});
  ModelConfig config;
  config.head = head;
  const Weights tensors(weights.map());
  const auto made = ClassifierHead::Create(config, tensors);
  EXPECT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->labels_tokens(), head.pooling == Pooling::kTokens);
  return made->Forward(at::tensor(x).view({-1, 1}), batch);
}

void ExpectNear(const at::Tensor& logits, const std::vector<std::vector<double>>& expected) {
  ASSERT_EQ(logits.size(0), static_cast<int64_t>(expected.size()));
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(logits.size(1), static_cast<int64_t>(expected[i].size()));
    for (size_t j = 0; j < expected[i].size(); ++j) {
      const auto row = static_cast<int64_t>(i);
      const auto column = static_cast<int64_t>(j);
      EXPECT_NEAR(logits[row][column].item<float>(), expected[i][j], 1e-6) << i << ", " << j;
    }
  }
}

HeadConfig Head(Pooling pooling) {
  HeadConfig head;
  head.pooling = pooling;
  return head;
}

TEST(MeanPoolTest, IsTheMeanOfEachTextsOwnRows) {
  const at::Tensor x = at::tensor({1.F, 10.F, 2.F, 20.F, 6.F, 30.F, 5.F, 7.F}).view({4, 2});
  const at::Tensor pooled = MeanPool(x, TwoTexts());
  EXPECT_TRUE(pooled.equal(at::tensor({3.F, 20.F, 5.F, 7.F}).view({2, 2})));
}

TEST(MeanPoolTest, LeavesHiddenTokensOutAndGivesZeroWhenAllAre) {
  RaggedBatch batch;
  batch.Append({{1, 2, 3}, {0, 0, 0}, {}, {1, 0, 1}});
  batch.Append({{4}, {0}, {}, {0}});
  const at::Tensor x = at::tensor({1.F, 100.F, 3.F, 9.F}).view({4, 1});
  EXPECT_TRUE(MeanPool(x, batch).equal(at::tensor({2.F, 0.F}).view({2, 1})));
}

TEST(ClassifierHeadTest, PoolerTakesTheFirstTokenOfEachText) {
  HeadConfig head = Head(Pooling::kFirst);
  head.dense = "pooler.dense";
  head.dense_activation = "tanh";
  const double first = std::tanh(0.75);
  const double second = std::tanh(-0.25);
  ExpectNear(Logits(head, {1, 8, 9, -1}, TwoTexts()),
             {{first, 3 - 2 * first}, {second, 3 - 2 * second}});
}

TEST(ClassifierHeadTest, DenseWithoutActivationIsLinear) {
  HeadConfig head = Head(Pooling::kFirst);
  head.dense = "summary";
  ExpectNear(Logits(head, {1, 8, 9, -1}, TwoTexts()), {{0.75, 1.5}, {-0.25, 3.5}});
}

TEST(ClassifierHeadTest, EachPoolingReadsItsTokens) {
  const std::vector<float> x = {1, 8, 9, -1};
  ExpectNear(Logits(Head(Pooling::kFirst), x, TwoTexts()), {{1, 1}, {-1, 5}});
  ExpectNear(Logits(Head(Pooling::kLast), x, TwoTexts()), {{9, -15}, {-1, 5}});
  ExpectNear(Logits(Head(Pooling::kMean), x, TwoTexts()), {{6, -9}, {-1, 5}});
  ExpectNear(Logits(Head(Pooling::kTokens), x, TwoTexts()), {{1, 1}, {8, -13}, {9, -15}, {-1, 5}});
}

// The mean of what a nonlinear layer gives is not what it gives for the mean.
TEST(ClassifierHeadTest, LatePoolingClassifiesTokensBeforeTheMean) {
  HeadConfig head = Head(Pooling::kLate);
  head.dense = "dense";
  head.dense_activation = "relu";
  // relu(0.5 x + 0.25) of -4, 1.5, 3.5 and -1.
  const double mean = (0 + 1 + 2) / 3.0;
  ExpectNear(Logits(head, {-4, 1.5, 3.5, -1}, TwoTexts()), {{mean, 3 - 2 * mean}, {0, 3}});
  head.pooling = Pooling::kMean;
  const double late = 0.5 / 3 + 0.25;
  ExpectNear(Logits(head, {-4, 1.5, 3.5, -1}, TwoTexts()), {{late, 3 - 2 * late}, {0, 3}});
}

// By hand: relu leaves (1, 3) as it is, which normalises to ∓1 / sqrt(1 + eps) = ∓0.5.
TEST(ClassifierHeadTest, NormFollowsTheActivation) {
  FakeWeights weights;
  weights.Add("head.dense.weight", {2, 2}, {1, 0, 0, 1});
  weights.Add("head.norm.weight", {2}, {1, 1});
  weights.Add("classifier.weight", {1, 2}, {1, 10});
  ModelConfig config;
  config.norm_eps = 3;
  config.head = Head(Pooling::kFirst);
  config.head.dense = "head.dense";
  config.head.dense_activation = "relu";
  config.head.norm = "head.norm";
  const Weights tensors(weights.map());
  const auto head = ClassifierHead::Create(config, tensors);
  ASSERT_TRUE(head.ok()) << head.status();
  RaggedBatch batch;
  batch.Append({{1}, {0}, {}, {}});
  batch.Append({{1}, {0}, {}, {}});
  // The second is cut to (0, 2) by relu, which normalises to the same.
  const at::Tensor x = at::tensor({1.F, 3.F, -7.F, 2.F}).view({2, 2});
  ExpectNear(head->Forward(x, batch), {{4.5}, {4.5}});
}

TEST(ClassifierHeadTest, RefusesAnUnknownActivation) {
  FakeWeights weights;
  weights.Add("classifier.weight", {1, 1}, {1});
  ModelConfig config;
  config.head = Head(Pooling::kFirst);
  config.head.dense_activation = "softsign";
  const Weights tensors(weights.map());
  const auto head = ClassifierHead::Create(config, tensors);
  EXPECT_EQ(head.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(head.status().message(), testing::HasSubstr("softsign"));
}

TEST(ScoresTest, FollowsTheFunction) {
  const at::Tensor logits = at::tensor({0.F, std::log(3.F), -1.F, 1.F}).view({2, 2});
  EXPECT_TRUE(Scores(logits, ScoreFunction::kIdentity).equal(logits));
  const at::Tensor softmax = Scores(logits, ScoreFunction::kSoftmax);
  EXPECT_NEAR(softmax[0][0].item<float>(), 0.25, 1e-6);
  EXPECT_NEAR(softmax[0][1].item<float>(), 0.75, 1e-6);
  EXPECT_NEAR(softmax[1].sum().item<float>(), 1, 1e-6);
  const at::Tensor sigmoid = Scores(logits, ScoreFunction::kSigmoid);
  EXPECT_NEAR(sigmoid[0][0].item<float>(), 0.5, 1e-6);
  EXPECT_NEAR(sigmoid[0][1].item<float>(), 0.75, 1e-6);
}

}  // namespace
}  // namespace heed
