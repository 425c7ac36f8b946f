#include "model/heads/sequence_head.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "model/encoder/weights.h"

namespace heed {
namespace {

RaggedBatch TwoTexts() {
  RaggedBatch batch;
  batch.Append({{1, 2, 3}, {0, 0, 0}, {}, {}});
  batch.Append({{4}, {0}, {}, {}});
  return batch;
}

// Weights from plain numbers: what a checkpoint file gives, without the file.
class FakeWeights {
 public:
  void Add(const std::string& role, std::vector<int64_t> shape, std::vector<float> values) {
    std::vector<float>& kept = values_[role] = std::move(values);
    map_.tensors[role] = {DType::kF32, std::move(shape),
                          absl::MakeConstSpan(reinterpret_cast<const std::byte*>(kept.data()),
                                              kept.size() * sizeof(float))};
  }
  const WeightMap& map() const { return map_; }

 private:
  std::map<std::string, std::vector<float>> values_;
  WeightMap map_;
};

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

TEST(SequenceHeadTest, PoolerTakesTheFirstTokenOfEachText) {
  FakeWeights weights;
  weights.Add("pooler.weight", {1, 1}, {0.5F});
  weights.Add("pooler.bias", {1}, {0.25F});
  weights.Add("classifier.weight", {2, 1}, {1.F, -2.F});
  weights.Add("classifier.bias", {2}, {0.F, 3.F});
  ModelConfig config;
  config.pooling = Pooling::kBertPooler;
  const SequenceHead head(config, Weights(weights.map()));
  const at::Tensor logits =
      head.Forward(at::tensor({1.F, 8.F, 8.F, -1.F}).view({4, 1}), TwoTexts());
  const double first = std::tanh(0.75);
  const double second = std::tanh(-0.25);
  EXPECT_NEAR(logits[0][0].item<float>(), first, 1e-6);
  EXPECT_NEAR(logits[0][1].item<float>(), 3 - 2 * first, 1e-6);
  EXPECT_NEAR(logits[1][0].item<float>(), second, 1e-6);
  EXPECT_NEAR(logits[1][1].item<float>(), 3 - 2 * second, 1e-6);
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
