#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model/positional/tile.h"

namespace heed {
namespace {

using testing::HasSubstr;

constexpr int64_t kHeads = 2;
constexpr int64_t kHeadSize = 4;
constexpr int64_t kHidden = 12;  // not H Dh, so that the two are told apart

struct Tensors {
  at::Tensor r = at::randn({kHidden, kHeads* kHeadSize}) * 0.3;
  at::Tensor r_w = at::randn({kHeads, kHeadSize});
  at::Tensor r_r = at::randn({kHeads, kHeadSize});
  at::Tensor r_s = at::randn({kHeads, kHeadSize});
  at::Tensor seg = at::randn({2, kHeads, kHeadSize});

  EncodingSpec Spec(const Options& options = {}) const {
    EncodingSpec spec = MakeSpec(kHeads, kHeadSize,
                                 {{"layers.0.positional.r", r},
                                  {"layers.0.positional.r_w_bias", r_w},
                                  {"layers.0.positional.r_r_bias", r_r},
                                  {"layers.0.positional.r_s_bias", r_s},
                                  {"layers.0.positional.seg_embed", seg}},
                                 options);
    spec.hidden_size = kHidden;
    return spec;
  }
};

// R_d W^r by heads, [H, Dh] float64.
at::Tensor Vector(const Tensors& t, int64_t distance) {
  const at::Tensor sinusoid = at::empty({kHidden}, at::kDouble);
  for (int64_t i = 0; i < kHidden / 2; ++i) {
    const double angle =
        static_cast<double>(distance) * std::pow(10000.0, -2.0 * static_cast<double>(i) / kHidden);
    sinusoid[i] = std::sin(angle);
    sinusoid[kHidden / 2 + i] = std::cos(angle);
  }
  return t.r.to(at::kDouble).t().matmul(sinusoid).view({kHeads, kHeadSize});
}

at::Tensor Formula(const Tile& tile, const Tensors& t, int64_t clamp) {
  const int64_t texts = tile.query.size(0), m = tile.query.size(2), n = tile.key.size(2);
  const at::Tensor score = at::empty({texts, kHeads, m, n}, at::kDouble);
  for (int64_t b = 0; b < texts; ++b) {
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        const int64_t d = (tile.query_positions[i] - tile.key_positions[j]).item<int64_t>();
        const at::Tensor q = tile.query[b].select(1, i).to(at::kDouble);
        const at::Tensor k = tile.key[b].select(1, j).to(at::kDouble);
        const bool same =
            tile.query_segments[b][i].item<int64_t>() == tile.key_segments[b][j].item<int64_t>();
        const at::Tensor sum = t.r_w * k + (q + t.r_r) * Vector(t, std::clamp(d, -clamp, clamp)) +
                               (q + t.r_s) * t.seg[same ? 0 : 1];
        score[b].select(1, i).select(1, j).copy_(sum.sum(-1) * tile.scale);
      }
    }
  }
  return score;
}

TEST(XlnetRelativeTest, EqualsTheFormulaOnAnyTile) {
  at::manual_seed(1);
  const Tensors t;
  for (const int64_t clamp : {int64_t{0}, int64_t{3}, int64_t{600}}) {
    const auto encoding = Make("xlnet_relative", t.Spec({{"clamp_len", std::to_string(clamp)}}));
    std::vector<Tile> tiles = ManyTiles();
    // On both sides of the distances that are kept ready.
    tiles.push_back(MakeTile(Span(0, 2), Span(511, 3)));
    tiles.push_back(MakeTile(Span(511, 3), Span(0, 2)));
    for (Tile& tile : tiles) {
      AddContent(tile, 2, kHeads, kHeadSize);
      const at::Tensor expected = Formula(tile, t, clamp > 0 ? clamp : int64_t{1} << 40);
      EXPECT_LT(LargestError(*encoding->ContentScore(tile), expected), 3e-6) << clamp;
    }
  }
}

TEST(XlnetRelativeTest, SimilarityIsTheTermWithoutAQuery) {
  at::manual_seed(2);
  const Tensors t;
  const at::Tensor s = *Make("xlnet_relative", t.Spec())->Similarity(0, Ints({4, 0, 900}));
  ASSERT_EQ(s.sizes(), (std::vector<int64_t>{kHeads, 3, 3}));
  EXPECT_LT(LargestError(s.select(1, 0).select(1, 1), (t.r_r * Vector(t, 4)).sum(-1)), 3e-6);
  EXPECT_LT(LargestError(s.select(1, 1).select(1, 0), (t.r_r * Vector(t, -4)).sum(-1)), 3e-6);
  EXPECT_LT(LargestError(s.select(1, 2).select(1, 0), (t.r_r * Vector(t, 896)).sum(-1)), 3e-6);
}

TEST(XlnetRelativeTest, RefusesBadWeightsAndOptions) {
  Tensors t;
  EXPECT_THAT(ErrorOf("xlnet_relative", t.Spec({{"clamp_len", "-2"}})),
              HasSubstr("\"clamp_len\" (-2)"));
  EXPECT_THAT(ErrorOf("xlnet_relative", t.Spec({{"clamp", "2"}})), HasSubstr("\"clamp\""));
  t.seg = at::zeros({3, kHeads, kHeadSize});
  EXPECT_THAT(ErrorOf("xlnet_relative", t.Spec()), HasSubstr("seg_embed"));
  EncodingSpec odd = Tensors().Spec();
  odd.hidden_size = 11;
  EXPECT_THAT(ErrorOf("xlnet_relative", odd), HasSubstr("hidden_size (11)"));
}

}  // namespace
}  // namespace heed
