#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model/positional/tile.h"

namespace heed {
namespace {

using testing::HasSubstr;

// The table may be longer than the 32 rows that are used.
TEST(MpnetBiasTest, EqualsTheReference) {
  const at::Tensor buckets = Reference("relative_buckets")["t5.bidirectional.buckets_32.max_128"];
  for (const int64_t rows : {32, 40}) {
    const at::Tensor table = at::randn({rows, 2});
    const auto encoding = Make("mpnet_bias", MakeSpec(2, 4, {{"positional.bias", table}}, {}, 2));
    const at::Tensor bias = *encoding->ScoreBias(MakeTile({300}, Span(0, 601), 1));
    EXPECT_EQ(LargestError(bias.squeeze(1).t(), at::embedding(table, buckets)), 0);
  }
}

TEST(MpnetBiasTest, ScatteredPositionsAndSimilarity) {
  const at::Tensor table = at::randn({32, 2});
  const auto encoding = Make("mpnet_bias", MakeSpec(2, 4, {{"positional.bias", table}}));
  const at::Tensor bias = *encoding->ScoreBias(MakeTile({9, 0}, {4, 100000, 9}));
  const at::Tensor buckets = Ints({5, 31, 0, 20, 31, 24}).view({2, 3});
  EXPECT_EQ(LargestError(bias, at::embedding(table, buckets).permute({2, 0, 1})), 0);
  EXPECT_EQ(LargestError(*encoding->Similarity(0, Ints({9, 0})),
                         *encoding->ScoreBias(MakeTile({9, 0}, {9, 0}))),
            0);
}

TEST(MpnetBiasTest, RefusesShortTablesAndOptions) {
  const Weights weights = {{"positional.bias", at::zeros({31, 2})}};
  EXPECT_THAT(ErrorOf("mpnet_bias", MakeSpec(2, 4, weights)),
              HasSubstr("\"positional.bias\" has 31 rows"));
  EXPECT_THAT(ErrorOf("mpnet_bias", MakeSpec(2, 4)), HasSubstr("\"positional.bias\""));
  const Weights good = {{"positional.bias", at::zeros({32, 2})}};
  EXPECT_THAT(ErrorOf("mpnet_bias", MakeSpec(2, 4, good, {{"num_buckets", "32"}})),
              HasSubstr("\"num_buckets\""));
}

}  // namespace
}  // namespace heed
