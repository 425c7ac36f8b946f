#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/model/positional/tile.h"

namespace heed {
namespace {

using testing::HasSubstr;

std::unique_ptr<PositionalEncoding> WithTable(const at::Tensor& table, int64_t heads = 2) {
  return Make("cope", MakeSpec(heads, table.size(1), {{"positional.table", table}}));
}

// A tile of these places in the text, with positions that say nothing of them.
Tile PlacesTile(const std::vector<int64_t>& queries, const std::vector<int64_t>& keys,
                int64_t head_size = 6) {
  Tile tile = MakeTile(Span(1000, static_cast<int64_t>(queries.size())),
                       Span(40, static_cast<int64_t>(keys.size())));
  tile.query_indices = Ints(queries);
  tile.key_indices = Ints(keys);
  AddContent(tile, 2, 2, head_size);
  return tile;
}

double Dot(const at::Tensor& a, const at::Tensor& b) {
  return a.to(at::kDouble).dot(b.to(at::kDouble)).item<double>();
}

// Equations 3 to 6 of one query, [n] float64.
at::Tensor ExpectedRow(const at::Tensor& table, const Tile& tile, int64_t text, int64_t head,
                       int64_t i) {
  const int64_t n = tile.key.size(2);
  const int64_t last = table.size(0) - 1;
  const at::Tensor q = tile.query[text][head][i];
  const auto place = tile.query_indices[i].item<int64_t>();
  const at::Tensor row = at::empty({n}, at::kDouble);
  for (int64_t j = 0; j < n; ++j) {
    const auto other = tile.key_indices[j].item<int64_t>();
    double p = 0;
    for (int64_t k = 0; k < n; ++k) {
      const auto between = tile.key_indices[k].item<int64_t>();
      if (between < std::min(place, other) || between > std::max(place, other)) continue;
      if (tile.visible.defined() && !tile.visible[i][k].item<bool>()) continue;
      p += 1 / (1 + std::exp(-Dot(q, tile.key[text][head][k])));
    }
    p = std::min(p, static_cast<double>(last));
    const double share = p - std::floor(p);
    const double low = Dot(q, table[static_cast<int64_t>(std::floor(p))]);
    const double high = Dot(q, table[static_cast<int64_t>(std::ceil(p))]);
    row[j] = tile.scale * ((1 - share) * low + share * high);
  }
  return row;
}

at::Tensor Expected(const at::Tensor& table, const Tile& tile) {
  const at::Tensor scores = at::empty(
      {tile.query.size(0), tile.query.size(1), tile.query.size(2), tile.key.size(2)}, at::kDouble);
  for (int64_t b = 0; b < scores.size(0); ++b) {
    for (int64_t h = 0; h < scores.size(1); ++h) {
      for (int64_t i = 0; i < scores.size(2); ++i) {
        scores[b][h][i].copy_(ExpectedRow(table, tile, b, h, i));
      }
    }
  }
  return scores;
}

void ExpectEqualsTheEquations(const Tile& tile) {
  // A table that most counts exceed, one for some, and one for all.
  for (const int64_t rows : {1, 3, 30}) {
    const at::Tensor table = at::randn({rows, tile.query.size(3)});
    const at::Tensor score = *WithTable(table)->ContentScore(tile);
    EXPECT_EQ(score.scalar_type(), at::kFloat);
    EXPECT_LT(LargestError(score, Expected(table, tile)), 5e-6) << rows;
  }
}

TEST(CopeTest, EqualsTheEquationsOnAnyTile) {
  at::manual_seed(1);
  for (Tile& tile : ManyTiles()) {
    AddContent(tile, 2, 2, 6);
    ExpectEqualsTheEquations(tile);
  }
}

TEST(CopeTest, EqualsTheEquationsForAnyPlaces) {
  at::manual_seed(2);
  ExpectEqualsTheEquations(PlacesTile(Span(0, 7), Span(0, 7)));
  // Rows from the middle of a text, and rows after or before all their keys.
  ExpectEqualsTheEquations(PlacesTile(Span(5, 3), Span(0, 12)));
  ExpectEqualsTheEquations(PlacesTile(Span(5, 3), Span(2, 5)));
  ExpectEqualsTheEquations(PlacesTile(Span(20, 3), Span(2, 5)));
  ExpectEqualsTheEquations(PlacesTile(Span(0, 2), Span(2, 5)));
}

TEST(CopeTest, TheQueryMayBeMissingFromTheKeys) {
  at::manual_seed(3);
  ExpectEqualsTheEquations(PlacesTile({0, 1, 4, 6, 8, 9, 10}, {0, 3, 4, 9}));
}

TEST(CopeTest, CountsOnlyTokensThatTheQuerySees) {
  at::manual_seed(4);
  Tile tile = PlacesTile({0, 1, 4, 6, 8, 9, 10}, {0, 3, 4, 8, 9});
  tile.visible = at::rand({7, 5}) < 0.5;
  tile.visible[3].fill_(false);
  ASSERT_TRUE(tile.visible.any().item<bool>());
  ExpectEqualsTheEquations(tile);
}

// One head of size 1 with q = 2, R rows e[p] = p and a scale of 1: half a score is the position.
at::Tensor PositionsOf(int64_t rows, Tile tile, const at::Tensor& keys) {
  const int64_t m = tile.query_indices.size(0);
  tile.scale = 1;
  tile.query = at::full({1, 1, m, 1}, 2.F);
  tile.key = keys.to(at::kFloat).view({1, 1, -1, 1});
  const at::Tensor table = at::arange(rows, at::kFloat).unsqueeze(1);
  return *WithTable(table, 1)->ContentScore(tile) / 2;
}

// By hand: keys of 0 have gates of 1/2.
TEST(CopeTest, HalfOpenGatesCountHalf) {
  const Tile tile = MakeTile(Span(0, 4), Span(0, 4));
  const at::Tensor expected =
      at::tensor({0.5, 1.0, 1.5, 2.0, 1.0, 0.5, 1.0, 1.5, 1.5, 1.0, 0.5, 1.0, 2.0, 1.5, 1.0, 0.5});
  EXPECT_LT(LargestError(PositionsOf(5, tile, at::zeros({4})), expected.view({1, 1, 4, 4})), 1e-6);
  EXPECT_LT(
      LargestError(PositionsOf(2, tile, at::zeros({4})), expected.clamp_max(1).view({1, 1, 4, 4})),
      1e-6);
}

// By hand: gates that only the tokens 1 and 4 open. The position is how many of those stand
// between.
TEST(CopeTest, CountsWhatTheGatesOpenFor) {
  const at::Tensor keys = at::tensor({-50, 50, -50, -50, 50, -50});
  const at::Tensor actual = PositionsOf(8, MakeTile(Span(0, 6), Span(0, 6)), keys);
  EXPECT_LT(LargestError(actual[0][0][2], at::tensor({1, 1, 0, 0, 1, 1})), 1e-6);
  EXPECT_LT(LargestError(actual[0][0][0], at::tensor({0, 1, 1, 1, 2, 2})), 1e-6);
  EXPECT_LT(LargestError(actual[0][0][4], at::tensor({2, 2, 1, 1, 1, 1})), 1e-6);
}

// Gates of sigmoid(1/4) each: the positions near a query are not worn by the sum of thousands far
// away.
TEST(CopeTest, LongRowsKeepThePositionsNearTheQuery) {
  const int64_t n = 30000;
  Tile tile = MakeTile({0, 0, 0}, Span(0, n));
  tile.query_indices = Ints({0, n / 2, n - 1});
  const at::Tensor actual = PositionsOf(64, tile, at::full({n}, 0.125));
  const double gate = 1 / (1 + std::exp(-0.25));
  const at::Tensor distance =
      (tile.key_indices - tile.query_indices.unsqueeze(1)).abs().to(at::kDouble);
  const at::Tensor expected = ((distance + 1) * gate).clamp_max(63);
  EXPECT_LT(LargestError(actual[0][0], expected), 1e-5);
}

// More pairs than are computed at once, and not a multiple of that: 2 * 2 * 600 * 600.
TEST(CopeTest, BigTilesAreTheSameAsTheirRows) {
  at::manual_seed(8);
  Tile tile = PlacesTile(Span(0, 600), Span(0, 600));
  const auto encoding = WithTable(at::randn({40, 6}));
  for (const bool masked : {false, true}) {
    if (masked) tile.visible = at::rand({600, 600}) < 0.5;
    const at::Tensor whole = *encoding->ContentScore(tile);
    for (const int64_t row : {0, 1, 435, 436, 437, 599}) {
      Tile one = tile;
      one.query = tile.query.narrow(2, row, 1);
      one.query_indices = Ints({row});
      if (masked) one.visible = tile.visible.narrow(0, row, 1);
      const at::Tensor alone = *encoding->ContentScore(one);
      EXPECT_LT(LargestError(whole.narrow(2, row, 1), alone), 5e-6) << row;
    }
  }
}

TEST(CopeTest, PositionsOfTheTokensDoNotMatter) {
  at::manual_seed(5);
  Tile tile = PlacesTile(Span(0, 5), Span(0, 5));
  const auto encoding = WithTable(at::randn({4, 6}));
  const at::Tensor score = *encoding->ContentScore(tile);
  tile.query_positions = tile.key_positions = Ints({9, 100000, 2, 3, 0});
  EXPECT_TRUE(encoding->ContentScore(tile)->equal(score));
}

// Numbers that are not finite stay so; they lead to no row outside the table.
TEST(CopeTest, ContentThatIsNotANumberStaysInItsRow) {
  at::manual_seed(6);
  Tile tile = PlacesTile(Span(0, 4), Span(0, 4));
  const auto encoding = WithTable(at::randn({3, 6}));
  const at::Tensor before = *encoding->ContentScore(tile);
  tile.query.select(2, 1).fill_(std::numeric_limits<float>::quiet_NaN());
  const at::Tensor after = *encoding->ContentScore(tile);
  EXPECT_TRUE(after.select(2, 1).isnan().all().item<bool>());
  EXPECT_TRUE(after.narrow(2, 2, 2).equal(before.narrow(2, 2, 2)));
}

TEST(CopeTest, LayersMayHaveTheirOwn) {
  at::manual_seed(7);
  const at::Tensor shared = at::randn({4, 6});
  const at::Tensor own = at::randn({5, 6});
  EncodingSpec spec =
      MakeSpec(2, 6, {{"positional.table", shared}, {"layers.1.positional.table", own}}, {}, 3);
  spec.layers = {0, 1};
  const auto encoding = Make("cope", spec);
  Tile tile = PlacesTile(Span(0, 9), Span(0, 9));
  EXPECT_LT(LargestError(*encoding->ContentScore(tile), Expected(shared, tile)), 5e-6);
  tile.layer = 1;
  EXPECT_LT(LargestError(*encoding->ContentScore(tile), Expected(own, tile)), 5e-6);
  tile.layer = 2;
  EXPECT_FALSE(encoding->ContentScore(tile).has_value());
}

TEST(CopeTest, HasNoOtherTermAndNoLimit) {
  const auto encoding = WithTable(at::zeros({3, 6}));
  EXPECT_EQ(encoding->position_limit(), 0);
  EXPECT_FALSE(encoding->Similarity(0, Ints({0, 1})).has_value());
  EXPECT_FALSE(encoding->ScoreBias(PlacesTile({0}, {0})).has_value());
}

TEST(CopeTest, RefusesBadTablesAndOptions) {
  EXPECT_THAT(ErrorOf("cope", MakeSpec(1, 2)),
              HasSubstr("\"layers.0.positional.table\" of shape [*, 2]"));
  Weights weights = {{"positional.table", at::zeros({4, 3})}};
  EXPECT_THAT(ErrorOf("cope", MakeSpec(1, 2, weights)), HasSubstr("has shape [4, 3]"));
  weights["positional.table"] = at::zeros({0, 2});
  EXPECT_THAT(ErrorOf("cope", MakeSpec(1, 2, weights)),
              HasSubstr("\"positional.table\" of layer 0 has no rows"));
  weights["positional.table"] = at::zeros({4, 2});
  EXPECT_THAT(ErrorOf("cope", MakeSpec(1, 2, weights, {{"npos_max", "4"}})),
              HasSubstr("\"npos_max\""));
}

}  // namespace
}  // namespace heed
