#include "model/positional/distance.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "tests/model/positional/tile.h"

namespace heed {
namespace {

// Two heads: the distance itself, and its square.
at::Tensor DistanceAndSquare(const at::Tensor& distances) {
  const at::Tensor d = distances.to(at::kFloat);
  return at::stack({d, d * d});
}

TEST(DistanceTest, IsKeyMinusQuery) {
  const Tile tile = MakeTile({7, 0}, {3, 100003, 7});
  EXPECT_TRUE(Distances(tile).equal(Ints({-4, 99996, 0, 3, 100003, 7}).view({2, 3})));
}

TEST(DistanceBiasTest, EveryPairHasTheBiasOfItsDistance) {
  for (const Tile& tile : ManyTiles()) {
    const at::Tensor bias = DistanceBias(tile, DistanceAndSquare);
    ASSERT_EQ(bias.dim(), 3);
    EXPECT_EQ(bias.scalar_type(), at::kFloat);
    for (int64_t i = 0; i < tile.query_positions.size(0); ++i) {
      for (int64_t j = 0; j < tile.key_positions.size(0); ++j) {
        const auto d = static_cast<float>(tile.key_positions[j].item<int64_t>() -
                                          tile.query_positions[i].item<int64_t>());
        EXPECT_EQ(bias[0][i][j].item<float>(), d);
        EXPECT_EQ(bias[1][i][j].item<float>(), d * d);
      }
    }
  }
}

TEST(DistanceBiasTest, AsksForDiagonalsOnlyOnAContiguousTile) {
  int64_t asked = 0;
  const auto count = [&asked](const at::Tensor& distances) {
    asked += distances.numel();
    return DistanceAndSquare(distances);
  };
  DistanceBias(MakeTile(Span(10, 20), Span(0, 30)), count);
  EXPECT_EQ(asked, 49);
  asked = 0;
  DistanceBias(MakeTile(Span(10, 20), {5, 3, 4}), count);
  EXPECT_EQ(asked, 60);
}

TEST(PairsOfTest, HoldsEachPositionAsQueryAndKey) {
  const Tile tile = PairsOf(3, Ints({4, 100000, 2}));
  EXPECT_EQ(tile.layer, 3);
  EXPECT_EQ(tile.length, 100001);
  EXPECT_FALSE(tile.contiguous);
  EXPECT_TRUE(
      Distances(tile).equal(Ints({0, 99996, -2, -99996, 0, -99998, 2, 99998, 0}).view({3, 3})));
}

}  // namespace
}  // namespace heed
