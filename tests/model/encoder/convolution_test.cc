#include "model/encoder/convolution.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model/encoder/fake_weights.h"
#include "tests/model/encoder/naive.h"

namespace heed {
namespace {

constexpr int64_t kWidth = 4;
constexpr int64_t kGroups = 2;
constexpr int64_t kKernel = 5;
constexpr double kEps = 1e-3;

RaggedBatch BatchOf(const std::vector<std::vector<uint8_t>>& masks, bool with_masks) {
  RaggedBatch batch;
  for (const std::vector<uint8_t>& mask : masks) {
    TokenIds text;
    text.ids.assign(mask.size(), 1);
    text.segments.assign(mask.size(), 0);
    if (with_masks) text.key_mask = mask;
    batch.Append(text);
  }
  return batch;
}

class ConvolutionTest : public testing::Test {
 protected:
  ConvolutionTest() {
    at::manual_seed(1);
    weight_ = fake_.AddRandom("convolution.weight", {kWidth, kWidth / kGroups, kKernel});
    bias_ = fake_.AddRandom("convolution.bias", {kWidth});
    norm_weight_ = fake_.AddRandom("convolution.norm.weight", {kWidth});
    norm_bias_ = fake_.AddRandom("convolution.norm.bias", {kWidth});
    config_.convolution = {kKernel, kGroups, "tanh"};
    config_.norm_eps = kEps;
  }

  Convolution Make() const {
    const Weights weights(fake_.map());
    return *Convolution::Create(config_, weights);
  }

  // The definition, one output at a time.
  Vector Naive(const at::Tensor& x, const at::Tensor& residual, const RaggedBatch& batch,
               size_t text, int64_t token) const {
    if (!batch.key_mask.empty() && batch.key_mask[token] == 0) return Vector(kWidth, 0);
    const int64_t inputs = kWidth / kGroups;
    Vector sums;
    for (int64_t out = 0; out < kWidth; ++out) {
      double sum = bias_[out];
      for (int64_t in = 0; in < inputs; ++in) {
        const int64_t column = out / inputs * inputs + in;
        for (int64_t k = 0; k < kKernel; ++k) {
          const int64_t place = token + k - kKernel / 2;
          if (place < batch.cu_seqlens[text] || place >= batch.cu_seqlens[text + 1]) continue;
          sum += weight_[(out * inputs + in) * kKernel + k] * x[place][column].item<float>();
        }
      }
      sums.push_back(std::tanh(sum) + residual[token][out].item<float>());
    }
    return NaiveLayerNorm({norm_weight_.begin(), norm_weight_.end()},
                          {norm_bias_.begin(), norm_bias_.end()}, kEps, sums);
  }

  void ExpectNaive(const RaggedBatch& batch) const {
    const auto tokens = static_cast<int64_t>(batch.token_count());
    const at::Tensor x = at::randn({tokens, kWidth});
    const at::Tensor residual = at::randn({tokens, kWidth});
    const at::Tensor y = Make().Forward(x, residual, batch);
    for (size_t b = 0; b < batch.text_count(); ++b) {
      for (int64_t t = batch.cu_seqlens[b]; t < batch.cu_seqlens[b + 1]; ++t) {
        const Vector expected = Naive(x, residual, batch, b, t);
        for (int64_t d = 0; d < kWidth; ++d) {
          EXPECT_NEAR(y[t][d].item<float>(), expected[d], 1e-5) << t << ", " << d;
        }
      }
    }
  }

  mutable FakeWeights fake_;
  ModelConfig config_;
  std::vector<float> weight_;
  std::vector<float> bias_;
  std::vector<float> norm_weight_;
  std::vector<float> norm_bias_;
};

// Three texts, one shorter than half a kernel.
const std::vector<std::vector<uint8_t>> kMasks = {{1, 1, 0, 1, 1, 0, 1}, {1}, {0, 1, 1}};

TEST_F(ConvolutionTest, MatchesTheFormulaInFloat64) { ExpectNaive(BatchOf(kMasks, false)); }

TEST_F(ConvolutionTest, HiddenTokensComeOutAsZeros) { ExpectNaive(BatchOf(kMasks, true)); }

TEST_F(ConvolutionTest, TextDoesNotSeeItsNeighbours) {
  const RaggedBatch batch = BatchOf(kMasks, false);
  const at::Tensor x = at::randn({11, kWidth});
  const at::Tensor residual = at::randn({11, kWidth});
  const at::Tensor before = Make().Forward(x, residual, batch).clone();
  at::Tensor spoiled = x.clone();
  spoiled.narrow(0, 7, 1).fill_(1e4);
  const at::Tensor after = Make().Forward(spoiled, residual, batch);
  EXPECT_TRUE(after.narrow(0, 0, 7).equal(before.narrow(0, 0, 7)));
  EXPECT_TRUE(after.narrow(0, 8, 3).equal(before.narrow(0, 8, 3)));
  EXPECT_FALSE(after.narrow(0, 7, 1).equal(before.narrow(0, 7, 1)));
}

TEST_F(ConvolutionTest, RefusesAnUnknownActivation) {
  config_.convolution.activation = "softsign";
  const Weights weights(fake_.map());
  const auto made = Convolution::Create(config_, weights);
  EXPECT_EQ(made.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(made.status().message(), testing::HasSubstr("softsign"));
}

}  // namespace
}  // namespace heed
