#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model/positional/tile.h"

namespace heed {
namespace {

using testing::HasSubstr;

const std::vector<double> kR1 = {1.5, 0.25};
const std::vector<double> kR2 = {0.01, 3};

Weights Trained() {
  return {{"positional.r1", at::tensor(kR1).to(at::kFloat)},
          {"positional.r2", at::tensor(kR2).to(at::kFloat)}};
}

// Equation 3, pair by pair in float64.
at::Tensor Expected(const Tile& tile) {
  const int64_t m = tile.query_positions.size(0);
  const int64_t n = tile.key_positions.size(0);
  const at::Tensor bias = at::empty({2, m, n}, at::kDouble);
  for (int64_t h = 0; h < 2; ++h) {
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        const auto d = std::abs(static_cast<double>(tile.query_positions[i].item<int64_t>() -
                                                    tile.key_positions[j].item<int64_t>()));
        bias[h][i][j] = -kR1[h] * std::log(1 + kR2[h] * d);
      }
    }
  }
  return bias;
}

TEST(KerpleLogTest, EqualsTheFormulaOnAnyTile) {
  const auto encoding = Make("kerple_log", MakeSpec(2, 4, Trained()));
  for (const Tile& tile : ManyTiles()) {
    const at::Tensor bias = *encoding->ScoreBias(tile);
    EXPECT_EQ(bias.scalar_type(), at::kFloat);
    EXPECT_LT(LargestError(bias, Expected(tile)), 2e-6);
  }
}

TEST(KerpleLogTest, LayersMayHaveTheirOwn) {
  Weights weights = Trained();
  weights["layers.1.positional.r1"] = at::tensor({3.F, 0.5F});
  const auto encoding = Make("kerple_log", MakeSpec(2, 4, weights, {}, 2));
  const at::Tensor first = *encoding->ScoreBias(MakeTile(Span(0, 4), Span(0, 4), 0));
  const at::Tensor second = *encoding->ScoreBias(MakeTile(Span(0, 4), Span(0, 4), 1));
  EXPECT_LT(LargestError(second, first * 2), 1e-6);
}

TEST(KerpleLogTest, SimilarityIsTheBias) {
  const auto encoding = Make("kerple_log", MakeSpec(2, 4, Trained()));
  EXPECT_LT(LargestError(*encoding->Similarity(0, Ints({8, 2, 5})),
                         Expected(MakeTile({8, 2, 5}, {8, 2, 5}))),
            2e-6);
}

TEST(KerpleLogTest, RefusesMissingAndNonPositiveTensors) {
  Weights weights = Trained();
  weights.erase("positional.r2");
  EXPECT_THAT(ErrorOf("kerple_log", MakeSpec(2, 4, weights)),
              HasSubstr("\"layers.0.positional.r2\""));
  for (const float bad : {0.F, -1.F, std::nanf("")}) {
    weights["positional.r2"] = at::tensor({1.F, bad});
    EXPECT_THAT(ErrorOf("kerple_log", MakeSpec(2, 4, weights)), HasSubstr("\"positional.r2\""));
  }
  EXPECT_THAT(ErrorOf("kerple_log", MakeSpec(3, 4, Trained())), HasSubstr("has shape [2]"));
  EXPECT_THAT(ErrorOf("kerple_log", MakeSpec(2, 4, Trained(), {{"r1", "1"}})), HasSubstr("\"r1\""));
}

}  // namespace
}  // namespace heed
