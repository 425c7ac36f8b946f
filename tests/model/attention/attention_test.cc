#include "model/attention/attention.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace heed {
namespace {

constexpr int64_t kHeads = 3;
constexpr int64_t kHeadSize = 8;

// Equation 1 of the paper, one query at a time, in float64.
at::Tensor NaiveAttend(const at::Tensor& qkv, const std::vector<int64_t>& cu_seqlens,
                       const std::vector<uint8_t>& key_mask) {
  const at::Tensor x = qkv.to(at::kDouble);
  at::Tensor context = at::zeros({x.size(0), kHeads, kHeadSize}, at::kDouble);
  for (size_t b = 0; b + 1 < cu_seqlens.size(); ++b) {
    for (int64_t head = 0; head < kHeads; ++head) {
      for (int64_t i = cu_seqlens[b]; i < cu_seqlens[b + 1]; ++i) {
        double sum = 0;
        at::Tensor row = at::zeros({kHeadSize}, at::kDouble);
        for (int64_t j = cu_seqlens[b]; j < cu_seqlens[b + 1]; ++j) {
          if (!key_mask.empty() && key_mask[j] == 0) continue;
          const double score = x[i][0][head].dot(x[j][1][head]).item<double>();
          const double weight = std::exp(score / std::sqrt(static_cast<double>(kHeadSize)));
          sum += weight;
          row += x[j][2][head] * weight;
        }
        if (sum > 0) context[i][head] = row / sum;
      }
    }
  }
  return context;
}

class AttentionTest : public testing::Test {
 protected:
  AttentionTest() { at::manual_seed(1); }

  void ExpectNaive(const std::vector<int64_t>& cu_seqlens, const std::vector<uint8_t>& key_mask) {
    const at::Tensor qkv = at::randn({cu_seqlens.back(), 3, kHeads, kHeadSize});
    const at::Tensor context = Attend(qkv, {cu_seqlens, key_mask});
    const at::Tensor expected = NaiveAttend(qkv, cu_seqlens, key_mask);
    EXPECT_LT((context.to(at::kDouble) - expected).abs().max().item<double>(), 2e-6);
  }
};

TEST_F(AttentionTest, MatchesTheFormulaInFloat64) { ExpectNaive({0, 5, 6, 13}, {}); }

TEST_F(AttentionTest, NeighboursOfOneLengthShareNothing) { ExpectNaive({0, 4, 8, 12, 13}, {}); }

TEST_F(AttentionTest, HiddenKeysGetNoWeight) {
  ExpectNaive({0, 5, 9}, {1, 0, 1, 0, 1, 1, 1, 1, 0});
}

TEST_F(AttentionTest, TextWithEveryKeyHiddenGetsZeros) {
  ExpectNaive({0, 3, 7}, {0, 0, 0, 1, 1, 0, 1});
}

TEST_F(AttentionTest, TextDoesNotSeeItsNeighbours) {
  const std::vector<int64_t> both = {0, 6, 10};
  const std::vector<int64_t> alone = {0, 6};
  at::Tensor qkv = at::randn({10, 3, kHeads, kHeadSize});
  const at::Tensor before = Attend(qkv, {both, {}}).narrow(0, 0, 6).clone();
  qkv.narrow(0, 6, 4).fill_(1e4);
  EXPECT_TRUE(before.equal(Attend(qkv, {both, {}}).narrow(0, 0, 6)));
  EXPECT_TRUE(before.equal(Attend(qkv.narrow(0, 0, 6), {alone, {}})));
}

TEST_F(AttentionTest, LargeScoresStayFinite) {
  const at::Tensor qkv = at::randn({8, 3, kHeads, kHeadSize}) * 1e3;
  const std::vector<int64_t> cu_seqlens = {0, 8};
  EXPECT_TRUE(Attend(qkv, {cu_seqlens, {}}).isfinite().all().item<bool>());
}

}  // namespace
}  // namespace heed
