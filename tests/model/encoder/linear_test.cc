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
    EXPECT_NEAR(Apply("gelu_fast", x), tanh_form, 1e-12);
    EXPECT_NEAR(Apply("relu", x), std::max(x, 0.0), 1e-12);
    EXPECT_NEAR(Apply("silu", x), x / (1 + std::exp(-x)), 1e-12);
    EXPECT_NEAR(Apply("swish", x), x / (1 + std::exp(-x)), 1e-12);
    EXPECT_NEAR(Apply("tanh", x), std::tanh(x), 1e-12);
    EXPECT_EQ(Apply("linear", x), x);
    EXPECT_EQ(Apply("", x), x);
  }
}

TEST(ActivationTest, RefusesAnUnknownNameAndSaysIt) {
  const auto activation = FindActivation("gelu_10");
  EXPECT_EQ(activation.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(activation.status().message(), testing::HasSubstr("gelu_10"));
}

TEST(LinearTest, IsXTimesWeightTransposedPlusBias) {
  const Linear linear{at::tensor({1.F, 2.F, 3.F, 4.F, 5.F, 6.F}).view({3, 2}),
                      at::tensor({0.5F, 0.F, -1.F})};
  const at::Tensor y = linear(at::tensor({1.F, -1.F}).view({1, 2}));
  EXPECT_TRUE(y.equal(at::tensor({-0.5F, -1.F, -2.F}).view({1, 3})));
}

// bfloat16 has 8 significant bits: 1 + 2^-9 rounds to 1, in the product and nowhere else.
TEST(LinearTest, Bfloat16WeightsRoundTheProductAlone) {
  const float small = std::ldexp(1.F, -9);
  const at::Tensor x = at::full({1, 1}, 1 + small);
  const at::Tensor weight = at::ones({1, 1});
  const Linear rounded{weight.to(at::kBFloat16), at::full({1}, small)};
  const at::Tensor y = rounded(x);
  EXPECT_EQ(y.scalar_type(), at::kFloat);
  EXPECT_EQ(y.item<float>(), 1 + small);
  const Linear without_bias{weight.to(at::kBFloat16), {}};
  EXPECT_EQ(without_bias(x).item<float>(), 1);
  const Linear exact{weight, {}};
  EXPECT_EQ(exact(x).item<float>(), 1 + small);
}

// By hand: (1, 3) has mean 2 and variance 1, so it normalises to ∓1 / sqrt(1 + eps).
TEST(NormTest, LayerNormUsesItsEps) {
  const Norm norm{NormKind::kLayerNorm, at::tensor({1.F, 2.F}), at::tensor({0.F, 1.F}), 3.0};
  const at::Tensor y = norm(at::tensor({1.F, 3.F}).view({1, 2}));
  EXPECT_NEAR(y[0][0].item<float>(), -0.5F, 1e-6);
  EXPECT_NEAR(y[0][1].item<float>(), 2.0F, 1e-6);
}

// By hand: (1, 7) has the mean square 25, so with eps 11 it is divided by 6.
TEST(NormTest, RmsNormTakesNoMeanOff) {
  const Norm norm{NormKind::kRmsNorm, at::tensor({3.F, 6.F}), {}, 11.0};
  const at::Tensor x = at::tensor({1.F, 7.F}).view({1, 2});
  const at::Tensor y = norm(x);
  EXPECT_NEAR(y[0][0].item<float>(), 0.5F, 1e-6);
  EXPECT_NEAR(y[0][1].item<float>(), 7.0F, 1e-6);
  EXPECT_TRUE(x.equal(at::tensor({1.F, 7.F}).view({1, 2}))) << "the input was changed";
}

TEST(NormTest, WithoutAWeightThereIsNoNorm) {
  const at::Tensor x = at::tensor({1.F, 3.F}).view({1, 2});
  EXPECT_TRUE(Norm()(x).equal(x));
}

}  // namespace
}  // namespace heed
