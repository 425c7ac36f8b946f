#include "model/train/head_trainer.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace heed {
namespace {

// At the optimum the gradient of the penalised loss is zero: checked by its closed formula,
// Xᵀ(softmax − onehot)/N + l2·W, in the standardised space in which the penalty is defined.
TEST(HeadTrainerTest, GradientIsZeroAtTheResult) {
  at::manual_seed(3);
  const at::Tensor features = at::randn({200, 5}) * 3 + 1;
  const at::Tensor labels = (features.select(1, 0) + at::randn({200}) > 1).to(at::kLong);
  HeadTrainOptions options;
  options.l2 = 0.01;
  const LogisticHead head = TrainLogisticHead(features, labels, options);

  const at::Tensor x = features.to(at::kDouble);
  const at::Tensor scale = x.std(0);
  const at::Tensor standardised = (x - x.mean(0)) / scale;
  const at::Tensor weight = head.weight.to(at::kDouble) * scale;
  const at::Tensor logits = at::linear(x, head.weight.to(at::kDouble), head.bias.to(at::kDouble));
  const at::Tensor residual = (logits.softmax(1) - at::one_hot(labels, 2)) / 200;
  const at::Tensor gradient = at::mm(residual.t(), standardised) + weight * options.l2;
  EXPECT_LT(gradient.abs().max().item<double>(), 1e-5);
  EXPECT_LT(residual.sum(0).abs().max().item<double>(), 1e-5);
}

TEST(HeadTrainerTest, SameInputGivesTheSameBits) {
  at::manual_seed(4);
  const at::Tensor features = at::randn({64, 3});
  const at::Tensor labels = features.select(1, 1).gt(0).to(at::kLong);
  const LogisticHead a = TrainLogisticHead(features, labels, {});
  const LogisticHead b = TrainLogisticHead(features, labels, {});
  EXPECT_TRUE(a.weight.equal(b.weight));
  EXPECT_GT(Accuracy(a, features, labels), 0.95);
}

// 80 of 100: (0.7112, 0.8666), by hand from the formula.
TEST(WilsonIntervalTest, MatchesAWorkedExample) {
  const Interval interval = WilsonInterval(0.8, 100);
  EXPECT_NEAR(interval.low, 0.7112, 5e-4);
  EXPECT_NEAR(interval.high, 0.8666, 5e-4);
}

}  // namespace
}  // namespace heed
