#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model/positional/tile.h"

namespace heed {
namespace {

using testing::HasSubstr;

// The reference's queries and keys as a tile, with scores divided by sqrt(8).
Tile ReferenceTile(const Reference& reference, int64_t first_position = 0) {
  Tile tile = MakeTile(Span(first_position, 18), Span(first_position, 18));
  tile.scale = 1 / std::sqrt(8.0);
  tile.query = reference["bert.q"].to(at::kFloat).unsqueeze(0);
  tile.key = reference["bert.k"].to(at::kFloat).unsqueeze(0);
  return tile;
}

TEST(ShawTest, EqualsTheReference) {
  const Reference reference("shaw");
  const Weights weights = {{"positional.key_table", reference["paper.key_table"].to(at::kFloat)}};
  const auto encoding = Make("shaw", MakeSpec(2, 8, weights));
  const at::Tensor score = *encoding->ContentScore(ReferenceTile(reference, 1000));
  const at::Tensor expected = reference["paper.scores"] - reference["bert.scores.absolute"];
  EXPECT_LT(LargestError(score[0], expected), 1e-6);
}

TEST(ShawTest, BertsRelativeKeyIsTheOtherSign) {
  const Reference reference("shaw");
  const at::Tensor table = reference["bert.distance_embedding"].to(at::kFloat);
  const auto encoding = Make("shaw", MakeSpec(2, 8, {{"layers.0.positional.key_table", table}},
                                              {{"sign", "query_minus_key"}}));
  const at::Tensor score = *encoding->ContentScore(ReferenceTile(reference));
  const at::Tensor expected =
      reference["bert.scores.relative_key"] - reference["bert.scores.absolute"];
  EXPECT_LT(LargestError(score[0], expected), 1e-6);
}

TEST(ShawTest, RowsAreTheClippedIds) {
  const Reference reference("shaw");
  const auto check = [&](const std::string& name, int64_t k, int64_t length) {
    const at::Tensor table = at::arange(2 * k + 1, at::kFloat).unsqueeze(1);
    const auto encoding = Make("shaw", MakeSpec(1, 1, {{"positional.key_table", table}}));
    Tile tile = MakeTile(Span(3, length), Span(3, length));
    AddContent(tile, 1, 1, 1);
    tile.scale = 1;
    tile.query.fill_(1);
    EXPECT_EQ(LargestError(encoding->ContentScore(tile)->squeeze(), reference[name]), 0) << name;
  };
  check("clip_ids.k_4", 4, 40);
  check("clip_ids.k_8", 8, 40);
  check("clip_ids.k_16", 16, 40);
  check("extra.clip_ids", 3, 23);
}

// Equations 3 and 4, pair by pair in float64.
TEST(ShawTest, ScoreAndValueEqualTheEquationsOnAnyTile) {
  at::manual_seed(1);
  const int64_t k = 3;
  const at::Tensor keys = at::randn({2 * k + 1, 6});
  const at::Tensor values = at::randn({2 * k + 1, 6});
  const auto encoding =
      Make("shaw",
           MakeSpec(2, 6,
                    {{"layers.0.positional.key_table", keys}, {"positional.value_table", values}}));
  for (Tile& tile : ManyTiles()) {
    AddContent(tile, 2, 2, 6);
    const int64_t m = tile.query.size(2);
    const int64_t n = tile.key.size(2);
    const at::Tensor weights = at::rand({2, 2, m, n});
    const at::Tensor score = at::empty({2, 2, m, n}, at::kDouble);
    const at::Tensor value = at::zeros({2, 2, m, 6}, at::kDouble);
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        const int64_t d = (tile.key_positions[j] - tile.query_positions[i]).item<int64_t>();
        const int64_t row = std::clamp<int64_t>(d, -k, k) + k;
        const at::Tensor q = tile.query.select(2, i).to(at::kDouble);
        score.select(2, i).select(2, j).copy_((q * keys[row]).sum(-1) * tile.scale);
        value.select(2, i) +=
            weights.select(2, i).select(2, j).unsqueeze(-1).to(at::kDouble) * values[row];
      }
    }
    EXPECT_LT(LargestError(*encoding->ContentScore(tile), score), 2e-6);
    EXPECT_LT(LargestError(*encoding->ValueTerm(tile, weights), value), 5e-6);
  }
}

TEST(ShawTest, WithoutAValueTableThereIsNoValueTerm) {
  const Weights weights = {{"positional.key_table", at::zeros({3, 2})}};
  const auto encoding = Make("shaw", MakeSpec(1, 2, weights));
  Tile tile = MakeTile({0}, {0});
  AddContent(tile, 1, 1, 2);
  EXPECT_FALSE(encoding->ValueTerm(tile, at::ones({1, 1, 1, 1})).has_value());
  EXPECT_FALSE(encoding->Similarity(0, Ints({0})).has_value());
  EXPECT_FALSE(encoding->ScoreBias(tile).has_value());
}

TEST(ShawTest, RefusesBadTablesAndOptions) {
  EXPECT_THAT(ErrorOf("shaw", MakeSpec(1, 2)),
              HasSubstr("\"layers.0.positional.key_table\" of shape [*, 2]"));
  const Weights even = {{"positional.key_table", at::zeros({4, 2})}};
  EXPECT_THAT(ErrorOf("shaw", MakeSpec(1, 2, even)), HasSubstr("has 4 rows"));
  Weights weights = {{"positional.key_table", at::zeros({3, 2})}};
  EXPECT_THAT(ErrorOf("shaw", MakeSpec(1, 2, weights, {{"sign", "minus"}})),
              HasSubstr("\"sign\" (minus)"));
  EXPECT_THAT(ErrorOf("shaw", MakeSpec(1, 2, weights, {{"k", "1"}})), HasSubstr("\"k\""));
  weights["positional.value_table"] = at::zeros({6, 2});
  EXPECT_THAT(ErrorOf("shaw", MakeSpec(1, 2, weights)),
              HasSubstr("\"positional.value_table\" of layer 0 has 6 rows"));
}

}  // namespace
}  // namespace heed
