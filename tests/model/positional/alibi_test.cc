#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model/positional/tile.h"

namespace heed {
namespace {

at::Tensor Bias(int64_t heads, const Tile& tile) {
  return *Make("alibi", MakeSpec(heads, 2))->ScoreBias(tile);
}

TEST(AlibiTest, SlopesOfAnyHeadCount) {
  const Reference reference("alibi");
  for (int64_t heads = 1; heads <= 64; ++heads) {
    const at::Tensor slopes = reference["slopes.heads_" + std::to_string(heads)];
    const at::Tensor bias = Bias(heads, MakeTile({0}, {1}));
    EXPECT_LT(LargestError(-bias.flatten() / slopes, at::ones(heads)), 1e-7) << heads;
  }
}

TEST(AlibiTest, BiasEqualsTheReference) {
  const Reference reference("alibi");
  for (const int64_t heads : {1, 3, 8, 12}) {
    const at::Tensor bias = Bias(heads, MakeTile(Span(0, 33), Span(0, 33)));
    EXPECT_EQ(bias.scalar_type(), at::kFloat);
    const at::Tensor expected = reference["bias.symmetric.heads_" + std::to_string(heads)];
    EXPECT_LT(LargestError(bias, expected), 2e-6) << heads;
  }
  EXPECT_LT(
      LargestError(Bias(7, MakeTile(Span(9, 51), Span(9, 51))), reference["extra.bias.symmetric"]),
      2e-6);
}

// By hand from section 3: two heads have slopes 2^-4 and 2^-8.
TEST(AlibiTest, IsMinusSlopeTimesDistanceOnAnyTile) {
  for (const Tile& tile : ManyTiles()) {
    const at::Tensor d =
        (tile.query_positions.unsqueeze(1) - tile.key_positions).abs().to(at::kDouble);
    EXPECT_EQ(LargestError(Bias(2, tile), at::stack({d / -16, d / -256})), 0);
  }
}

TEST(AlibiTest, SimilarityIsTheBias) {
  const at::Tensor similarity = *Make("alibi", MakeSpec(2, 2))->Similarity(0, Ints({5, 1, 100000}));
  EXPECT_EQ(similarity.scalar_type(), at::kDouble);
  EXPECT_EQ(LargestError(similarity, Bias(2, MakeTile({5, 1, 100000}, {5, 1, 100000}))), 0);
}

TEST(AlibiTest, ActsInItsLayersOnly) {
  EncodingSpec spec = MakeSpec(2, 2, {}, {}, 3);
  spec.layers = {1};
  const auto encoding = Make("alibi", spec);
  EXPECT_TRUE(encoding->ScoreBias(MakeTile({0}, {1}, 1)).has_value());
  EXPECT_FALSE(encoding->ScoreBias(MakeTile({0}, {1}, 2)).has_value());
  EXPECT_FALSE(encoding->Similarity(0, Ints({1})).has_value());
}

TEST(AlibiTest, RefusesOptionsAndNoHeads) {
  EXPECT_THAT(ErrorOf("alibi", MakeSpec(2, 2, {}, {{"slope", "1"}})),
              testing::HasSubstr("\"slope\""));
  EXPECT_THAT(ErrorOf("alibi", MakeSpec(0, 2)), testing::HasSubstr("head_count (0)"));
}

}  // namespace
}  // namespace heed
