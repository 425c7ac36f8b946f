#include "model/encoder/feed_forward.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "tests/model/encoder/naive.h"

namespace heed {
namespace {

constexpr int64_t kWidth = 3;
constexpr int64_t kInner = 5;

class FeedForwardTest : public testing::TestWithParam<bool> {
 protected:
  FeedForwardTest() { at::manual_seed(1); }
};

std::vector<float> Flat(const at::Tensor& x) {
  const at::Tensor plain = x.contiguous();
  return {plain.const_data_ptr<float>(), plain.const_data_ptr<float>() + plain.numel()};
}

Vector ToVector(const at::Tensor& x) {
  const std::vector<float> values = Flat(x);
  return {values.begin(), values.end()};
}

TEST_P(FeedForwardTest, MatchesTheFormulaInFloat64) {
  const bool gated = GetParam();
  const int64_t rows = gated ? 2 * kInner : kInner;
  FeedForward feed;
  feed.up = {at::randn({rows, kWidth}), at::randn({rows})};
  feed.down = {at::randn({kWidth, kInner}), at::randn({kWidth})};
  feed.activation = *FindActivation("gelu");
  feed.gated = gated;
  const at::Tensor x = at::randn({4, kWidth});
  const at::Tensor before = x.clone();
  const at::Tensor y = feed(x);
  EXPECT_TRUE(x.equal(before)) << "the input was changed";
  const Matrix up = ToMatrix(Flat(feed.up.weight), rows);
  const Matrix down = ToMatrix(Flat(feed.down.weight), kWidth);
  for (int64_t t = 0; t < x.size(0); ++t) {
    const Vector inner = NaiveLinear(up, ToVector(feed.up.bias), ToVector(x[t]));
    Vector hidden;
    for (int64_t i = 0; i < kInner; ++i) {
      // The gate's rows come first.
      hidden.push_back(NaiveGelu(inner[i]) * (gated ? inner[kInner + i] : 1));
    }
    const Vector expected = NaiveLinear(down, ToVector(feed.down.bias), hidden);
    for (int64_t d = 0; d < kWidth; ++d) {
      EXPECT_NEAR(y[t][d].item<float>(), expected[d], 1e-5) << t << ", " << d;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(PlainAndGated, FeedForwardTest, testing::Bool());

}  // namespace
}  // namespace heed
