#include "model/encoder/linear.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace heed {
namespace {

constexpr double kPi = 3.14159265358979323846;

double Apply(const char* name, double x) {
  const auto activation = FindActivation(name);
  EXPECT_TRUE(activation.ok()) << activation.status();
  return (*activation)(at::full({1}, x, at::kDouble)).item<double>();
}

// Closed formulas: Hendrycks and Gimpel, 2016, arXiv:1606.08415, section 2.
TEST(ActivationTest, FollowsTheFormulas) {
  for (const double x : {-3.0, -0.5, 0.0, 0.7, 2.5}) {
    const double tanh_form =
        0.5 * x * (1 + std::tanh(std::sqrt(2 / kPi) * (x + 0.044715 * x * x * x)));
    EXPECT_NEAR(Apply("gelu", x), 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))), 1e-12);
    EXPECT_NEAR(Apply("gelu_new", x), tanh_form, 1e-12);
    EXPECT_NEAR(Apply("gelu_pytorch_tanh", x), tanh_form, 1e-12);
    EXPECT_NEAR(Apply("relu", x), std::max(x, 0.0), 1e-12);
    EXPECT_NEAR(Apply("silu", x), x / (1 + std::exp(-x)), 1e-12);
    EXPECT_NEAR(Apply("swish", x), x / (1 + std::exp(-x)), 1e-12);
    EXPECT_NEAR(Apply("tanh", x), std::tanh(x), 1e-12);
  }
}

TEST(ActivationTest, RefusesAnUnknownNameAndSaysIt) {
  const auto activation = FindActivation("gelu_fast");
  EXPECT_EQ(activation.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(activation.status().message(), testing::HasSubstr("gelu_fast"));
}

TEST(LinearTest, IsXTimesWeightTransposedPlusBias) {
  const Linear linear{at::tensor({1.F, 2.F, 3.F, 4.F, 5.F, 6.F}).view({3, 2}),
                      at::tensor({0.5F, 0.F, -1.F})};
  const at::Tensor y = linear(at::tensor({1.F, -1.F}).view({1, 2}));
  EXPECT_TRUE(y.equal(at::tensor({-0.5F, -1.F, -2.F}).view({1, 3})));
}

// By hand: (1, 3) has mean 2 and variance 1, so it normalises to ∓1 / sqrt(1 + eps).
TEST(LayerNormTest, UsesItsEps) {
  const LayerNorm norm{at::tensor({1.F, 2.F}), at::tensor({0.F, 1.F}), 3.0};
  const at::Tensor y = norm(at::tensor({1.F, 3.F}).view({1, 2}));
  EXPECT_NEAR(y[0][0].item<float>(), -0.5F, 1e-6);
  EXPECT_NEAR(y[0][1].item<float>(), 2.0F, 1e-6);
}

}  // namespace
}  // namespace heed
