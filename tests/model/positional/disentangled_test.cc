#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model/positional/tile.h"

namespace heed {
namespace {

using testing::HasSubstr;

constexpr int64_t kHeads = 2;
constexpr int64_t kHeadSize = 6;
constexpr int64_t kWidth = kHeads * kHeadSize;

// The bucket of d = i - j as the authors' code computes it, number by number.
int64_t Bucket(int64_t d, int64_t buckets, int64_t max_distance) {
  const int64_t mid = buckets / 2;
  if (buckets == 0 || std::abs(d) <= mid) return d;
  const double share = std::log(std::abs(static_cast<double>(d)) / static_cast<double>(mid)) /
                       std::log(static_cast<double>(max_distance - 1) / static_cast<double>(mid));
  const auto far = static_cast<int64_t>(std::ceil(share * static_cast<double>(mid - 1) - 1e-9) +
                                        static_cast<double>(mid));
  return d > 0 ? far : -far;
}

// He et al., equation 4 with the row of i - j in both terms; keys and queries are the projected
// tables, [2k, H Dh], or undefined where the term is off.
at::Tensor Formula(const Tile& tile, const at::Tensor& keys, const at::Tensor& queries,
                   int64_t span, int64_t buckets, int64_t max_distance) {
  const int64_t m = tile.query.size(2);
  const int64_t n = tile.key.size(2);
  const at::Tensor score = at::zeros({tile.query.size(0), kHeads, m, n}, at::kDouble);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      const int64_t d = (tile.query_positions[i] - tile.key_positions[j]).item<int64_t>();
      const int64_t row =
          std::clamp<int64_t>(Bucket(d, buckets, max_distance), -span, span - 1) + span;
      at::Tensor sum = at::zeros({tile.query.size(0), kHeads}, at::kDouble);
      const auto add = [&](const at::Tensor& table, const at::Tensor& x) {
        if (!table.defined()) return;
        sum += (table[row].view({kHeads, kHeadSize}).to(at::kDouble) * x.to(at::kDouble)).sum(-1);
      };
      add(keys, tile.query.select(2, i));
      add(queries, tile.key.select(2, j));
      score.select(2, i).select(2, j).copy_(sum * tile.scale);
    }
  }
  return score;
}

struct Setting {
  int64_t max_distance;
  int64_t buckets;
  std::string terms;

  int64_t span() const { return buckets > 0 ? buckets : max_distance; }
  Options options() const {
    return {{"max_distance", std::to_string(max_distance)},
            {"buckets", std::to_string(buckets)},
            {"terms", terms}};
  }
};

TEST(DisentangledTest, EqualsTheFormulaOnAnyTile) {
  at::manual_seed(1);
  for (const Setting& s : std::vector<Setting>{{5, 0, "both"},
                                               {300, 0, "c2p"},
                                               {5, 0, "p2c"},
                                               {40, 8, "both"},
                                               {512, 16, "p2c"},
                                               {64, 7, "c2p"}}) {
    const at::Tensor keys = at::randn({2 * s.span(), kWidth});
    const at::Tensor queries = at::randn({2 * s.span(), kWidth});
    const bool c2p = s.terms != "p2c";
    const bool p2c = s.terms != "c2p";
    Weights weights;
    if (c2p) weights["layers.0.positional.key_table"] = keys;
    if (p2c) weights["layers.0.positional.query_table"] = queries;
    const auto encoding = Make("disentangled", MakeSpec(kHeads, kHeadSize, weights, s.options()));
    for (Tile& tile : ManyTiles()) {
      AddContent(tile, 2, kHeads, kHeadSize);
      const at::Tensor expected =
          Formula(tile, c2p ? keys : at::Tensor(), p2c ? queries : at::Tensor(), s.span(),
                  s.buckets, s.max_distance);
      EXPECT_LT(LargestError(*encoding->ContentScore(tile), expected), 3e-6)
          << s.max_distance << ", " << s.buckets << ", " << s.terms;
    }
  }
}

// One table for all layers, each with projections of its own; normalised first.
TEST(DisentangledTest, ProjectsTheTableOfEachLayer) {
  at::manual_seed(2);
  const at::Tensor table = at::randn({10, kWidth});
  const at::Tensor gain = at::rand({kWidth}) + 0.5;
  const at::Tensor shift = at::randn({kWidth});
  const at::Tensor key = at::randn({kWidth, kWidth});
  const at::Tensor query = at::randn({kWidth, kWidth});
  const at::Tensor bias = at::randn({kWidth});
  const double eps = 0.3;  // large, so that it shows
  const auto encoding =
      Make("disentangled", MakeSpec(kHeads, kHeadSize,
                                    {{"positional.relative_table", table},
                                     {"positional.relative_norm.weight", gain},
                                     {"positional.relative_norm.bias", shift},
                                     {"layers.0.positional.key.weight", key + 1},
                                     {"layers.0.positional.query.weight", query + 1},
                                     {"layers.1.positional.key.weight", key},
                                     {"layers.1.positional.query.weight", query},
                                     {"layers.1.positional.query.bias", bias}},
                                    {{"max_distance", "5"}, {"norm_eps", "0.3"}}, 2));
  const at::Tensor rows = table.to(at::kDouble);
  const at::Tensor centred = rows - rows.mean(1, true);
  const at::Tensor normed = centred / (centred.square().mean(1, true) + eps).sqrt() * gain + shift;
  Tile tile = MakeTile(Span(0, 9), Span(0, 9), 1);
  AddContent(tile, 1, kHeads, kHeadSize);
  const at::Tensor expected = Formula(tile, normed.matmul(key.t().to(at::kDouble)),
                                      normed.matmul(query.t().to(at::kDouble)) + bias, 5, 0, 5);
  EXPECT_LT(LargestError(*encoding->ContentScore(tile), expected), 1e-5);
  EXPECT_FALSE(encoding->Similarity(1, Ints({0, 1})).has_value());
}

TEST(DisentangledTest, LimitIsTheModelsByDefault) {
  const at::Tensor table = at::randn({14, kWidth});
  EncodingSpec spec = MakeSpec(
      kHeads, kHeadSize, {{"positional.key_table", table}, {"positional.query_table", table}});
  EXPECT_THAT(ErrorOf("disentangled", spec), HasSubstr("\"max_distance\""));
  spec.max_positions = 7;
  EXPECT_NE(Make("disentangled", spec), nullptr);
}

TEST(DisentangledTest, RefusesBadTablesAndOptions) {
  const auto error = [](const Options& options, const Weights& weights = {}) {
    return ErrorOf("disentangled", MakeSpec(kHeads, kHeadSize, weights, options));
  };
  EXPECT_THAT(error({{"max_distance", "4"}}),
              HasSubstr("\"layers.0.positional.key_table\" of shape [8, 12]"));
  EXPECT_THAT(error({{"max_distance", "4"}}, {{"positional.key_table", at::zeros({7, kWidth})}}),
              HasSubstr("[7, 12]"));
  EXPECT_THAT(error({{"max_distance", "9"}, {"buckets", "16"}}), HasSubstr("\"buckets\" (16)"));
  EXPECT_THAT(error({{"max_distance", "9"}, {"buckets", "1"}}), HasSubstr("\"buckets\" (1)"));
  EXPECT_THAT(error({{"max_distance", "9"}, {"terms", "p2p"}}), HasSubstr("\"terms\" (p2p)"));
  EXPECT_THAT(error({{"max_distance", "9"}, {"span", "3"}},
                    {{"positional.key_table", at::zeros({18, kWidth})},
                     {"positional.query_table", at::zeros({18, kWidth})}}),
              HasSubstr("\"span\""));
  EXPECT_THAT(
      error({{"max_distance", "4"}}, {{"positional.relative_table", at::zeros({8, kWidth})},
                                      {"positional.relative_norm.bias", at::zeros({kWidth})}}),
      HasSubstr("positional.relative_norm.weight"));
}

}  // namespace
}  // namespace heed
