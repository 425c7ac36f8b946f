#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model/positional/tile.h"

namespace heed {
namespace {

using testing::HasSubstr;

TEST(RelativeKeyQueryTest, EqualsTheReference) {
  const Reference reference("shaw");
  const at::Tensor table = reference["bert.distance_embedding"].to(at::kFloat);
  const auto encoding =
      Make("relative_key_query", MakeSpec(2, 8, {{"layers.0.positional.key_table", table}}));
  Tile tile = MakeTile(Span(0, 18), Span(0, 18));
  tile.scale = 1 / std::sqrt(8.0);
  tile.query = reference["bert.q"].to(at::kFloat).unsqueeze(0);
  tile.key = reference["bert.k"].to(at::kFloat).unsqueeze(0);
  const at::Tensor expected =
      reference["bert.scores.relative_key_query"] - reference["bert.scores.absolute"];
  EXPECT_LT(LargestError((*encoding->ContentScore(tile))[0], expected), 1e-6);
}

// The formula pair by pair in float64, with both signs.
TEST(RelativeKeyQueryTest, EqualsTheFormulaOnAnyTile) {
  at::manual_seed(1);
  const int64_t k = 4;
  const at::Tensor table = at::randn({2 * k + 1, 6});
  for (const std::string name : {"query_minus_key", "key_minus_query"}) {
    const int64_t sign = name == "query_minus_key" ? -1 : 1;
    const auto encoding = Make("relative_key_query",
                               MakeSpec(2, 6, {{"positional.key_table", table}}, {{"sign", name}}));
    for (Tile& tile : ManyTiles()) {
      AddContent(tile, 2, 2, 6);
      const int64_t m = tile.query.size(2);
      const int64_t n = tile.key.size(2);
      const at::Tensor score = at::empty({2, 2, m, n}, at::kDouble);
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; ++j) {
          const int64_t d = (tile.key_positions[j] - tile.query_positions[i]).item<int64_t>();
          const at::Tensor a = table[std::clamp<int64_t>(sign * d, -k, k) + k].to(at::kDouble);
          const at::Tensor both = tile.query.select(2, i) + tile.key.select(2, j).to(at::kDouble);
          score.select(2, i).select(2, j).copy_((both * a).sum(-1) * tile.scale);
        }
      }
      EXPECT_LT(LargestError(*encoding->ContentScore(tile), score), 3e-6) << name;
    }
  }
}

TEST(RelativeKeyQueryTest, RefusesBadTablesAndOptions) {
  EXPECT_THAT(ErrorOf("relative_key_query", MakeSpec(1, 2)),
              HasSubstr("\"layers.0.positional.key_table\" of shape [*, 2]"));
  const Weights even = {{"positional.key_table", at::zeros({4, 2})}};
  EXPECT_THAT(ErrorOf("relative_key_query", MakeSpec(1, 2, even)), HasSubstr("has 4 rows"));
  const Weights good = {{"positional.key_table", at::zeros({3, 2})}};
  EXPECT_THAT(ErrorOf("relative_key_query", MakeSpec(1, 2, good, {{"max", "1"}})),
              HasSubstr("\"max\""));
}

}  // namespace
}  // namespace heed
