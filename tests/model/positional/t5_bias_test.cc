#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model/positional/tile.h"

namespace heed {
namespace {

using testing::HasSubstr;

constexpr int64_t kHeads = 3;

// table[bucket[i, j], h] for the 48 positions of the reference.
at::Tensor Expected(const at::Tensor& table) {
  const at::Tensor buckets = Reference("relative_buckets")["t5.matrix_48"];
  return at::embedding(table, buckets).permute({2, 0, 1});
}

TEST(T5BiasTest, EqualsTheReferenceOnAWholeText) {
  const at::Tensor table = at::randn({32, kHeads});
  const auto encoding = Make("t5_bias", MakeSpec(kHeads, 4, {{"positional.bias", table}}, {}, 2));
  for (const int64_t layer : {0, 1}) {
    const at::Tensor bias = *encoding->ScoreBias(MakeTile(Span(7, 48), Span(7, 48), layer));
    EXPECT_EQ(LargestError(bias, Expected(table)), 0);
  }
}

TEST(T5BiasTest, PiecesAndScatteredPositionsEqualTheWhole) {
  const at::Tensor table = at::randn({32, kHeads});
  const auto encoding = Make("t5_bias", MakeSpec(kHeads, 4, {{"positional.bias", table}}));
  const at::Tensor whole = Expected(table);
  const at::Tensor piece = *encoding->ScoreBias(MakeTile(Span(20, 5), Span(3, 40)));
  EXPECT_EQ(LargestError(piece, whole.slice(1, 20, 25).slice(2, 3, 43)), 0);
  const at::Tensor rows = Ints({40, 0, 17});
  const at::Tensor columns = Ints({3, 47, 46, 0});
  const at::Tensor scattered = *encoding->ScoreBias(MakeTile({40, 0, 17}, {3, 47, 46, 0}));
  EXPECT_EQ(LargestError(scattered, whole.index_select(1, rows).index_select(2, columns)), 0);
  const at::Tensor far = *encoding->ScoreBias(MakeTile({5}, {100000}));
  EXPECT_EQ(LargestError(far.flatten(), table[31]), 0);
}

TEST(T5BiasTest, LayersMayHaveTheirOwnTables) {
  const at::Tensor shared = at::randn({32, kHeads});
  const at::Tensor own = at::randn({32, kHeads});
  const Weights weights = {{"positional.bias", shared}, {"layers.1.positional.bias", own}};
  const auto encoding = Make("t5_bias", MakeSpec(kHeads, 4, weights, {}, 2));
  const at::Tensor positions = at::arange(48, at::kLong);
  EXPECT_EQ(LargestError(*encoding->Similarity(0, positions), Expected(shared)), 0);
  EXPECT_EQ(LargestError(*encoding->Similarity(1, positions), Expected(own)), 0);
  EXPECT_FALSE(encoding->Similarity(2, positions).has_value());
}

TEST(T5BiasTest, OptionsSetTheBuckets) {
  const at::Tensor table = at::arange(16, at::kFloat).unsqueeze(1);
  const Options options = {{"num_buckets", "16"}, {"max_distance", "64"}};
  const auto encoding = Make("t5_bias", MakeSpec(1, 4, {{"positional.bias", table}}, options));
  const Reference reference("relative_buckets");
  const at::Tensor bias = *encoding->ScoreBias(MakeTile({300}, Span(0, 601)));
  EXPECT_EQ(LargestError(bias.flatten(), reference["t5.bidirectional.buckets_16.max_64"]), 0);
}

TEST(T5BiasTest, RefusesBadOptionsAndTables) {
  const Weights weights = {{"positional.bias", at::zeros({32, kHeads})}};
  const auto error = [&](const Options& options) {
    return ErrorOf("t5_bias", MakeSpec(kHeads, 4, weights, options));
  };
  EXPECT_THAT(error({{"num_buckets", "33"}}), HasSubstr("\"num_buckets\" (33)"));
  EXPECT_THAT(error({{"num_buckets", "2"}}), HasSubstr("\"num_buckets\" (2)"));
  EXPECT_THAT(error({{"max_distance", "8"}}), HasSubstr("\"max_distance\" (8)"));
  EXPECT_THAT(error({{"buckets", "32"}}), HasSubstr("\"buckets\""));
  EXPECT_THAT(error({{"num_buckets", "16"}}), HasSubstr("[32, 3] where [16, 3]"));
  EXPECT_THAT(ErrorOf("t5_bias", MakeSpec(kHeads, 4)),
              HasSubstr("\"layers.0.positional.bias\" of shape [32, 3]"));
}

}  // namespace
}  // namespace heed
