#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/model/positional/tile.h"

namespace heed {
namespace {

using testing::HasSubstr;

Weights Trained(int64_t heads, int64_t width, float c, float threshold) {
  return {{"positional.mlp.0.weight", at::randn({width, 1})},
          {"positional.mlp.0.bias", at::randn({width})},
          {"positional.mlp.2.weight", at::randn({heads, width})},
          {"positional.mlp.2.bias", at::randn({heads})},
          {"positional.c", at::tensor({c})},
          {"positional.L", at::tensor({threshold})}};
}

// Two heads and one hidden unit: 2 x + 0.5 and -x, with c = 1 and L = 3.
Weights ByHand() {
  return {{"positional.mlp.0.weight", at::ones({1, 1})},
          {"positional.mlp.0.bias", at::zeros({1})},
          {"positional.mlp.2.weight", at::tensor({2.F, -1.F}).unsqueeze(1)},
          {"positional.mlp.2.bias", at::tensor({0.5F, 0.F})},
          {"positional.c", at::tensor({1.F})},
          {"positional.L", at::tensor({3.F})}};
}

// Equations 7 to 9, pair by pair in float64.
at::Tensor Expected(const Weights& weights, const Tile& tile) {
  const auto tensor = [&](const std::string& name) {
    return weights.at("positional." + name).to(at::kDouble);
  };
  const at::Tensor w1 = tensor("mlp.0.weight").squeeze(1);
  const at::Tensor b1 = tensor("mlp.0.bias");
  const at::Tensor w2 = tensor("mlp.2.weight");
  const at::Tensor b2 = tensor("mlp.2.bias");
  const auto c = tensor("c").item<double>();
  const auto threshold = tensor("L").item<double>();
  const auto psi = [&](double x) { return std::log(c * x + 1); };
  const int64_t m = tile.query_positions.size(0);
  const int64_t n = tile.key_positions.size(0);
  const at::Tensor bias = at::empty({w2.size(0), m, n}, at::kDouble);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      const auto p = static_cast<double>(tile.query_positions[i].item<int64_t>());
      const auto q = static_cast<double>(tile.key_positions[j].item<int64_t>());
      const double share = psi(std::abs(p - q)) / psi(std::max(threshold, std::max(p, q)));
      bias.select(1, i).select(1, j).copy_(w2.mv((w1 * share + b1).clamp_min(0)) + b2);
    }
  }
  return bias;
}

TEST(FireTest, EqualsTheFormulaOnAnyTile) {
  at::manual_seed(1);
  for (const float threshold : {4.F, 9.F, 11.F, 204.F, 1e6F, 0.25F}) {
    for (const float c : {0.7F, 30.F, 1e-3F}) {
      const Weights weights = Trained(3, 7, c, threshold);
      const auto encoding = Make("fire", MakeSpec(3, 4, weights));
      for (const Tile& tile : ManyTiles()) {
        const at::Tensor bias = *encoding->ScoreBias(tile);
        EXPECT_EQ(bias.scalar_type(), at::kFloat);
        EXPECT_LT(LargestError(bias, Expected(weights, tile)), 3e-6) << c << " " << threshold;
      }
    }
  }
}

// ln 2 / ln 4 = 1/2: the threshold normalises; ln 2 / ln 8 = 1/3: the later position does.
TEST(FireTest, BiasByHand) {
  const auto encoding = Make("fire", MakeSpec(2, 4, ByHand()));
  const at::Tensor near = *encoding->ScoreBias(MakeTile({0}, {1, 3}));
  EXPECT_LT(LargestError(near[0], at::tensor({1.5, 2.5}).unsqueeze(0)), 1e-6);
  EXPECT_LT(LargestError(near[1], at::tensor({-0.5, -1.0}).unsqueeze(0)), 1e-6);
  const at::Tensor far = *encoding->ScoreBias(MakeTile({7}, {6, 7, 0}));
  EXPECT_LT(LargestError(far[0], at::tensor({0.5 + 2.0 / 3, 0.5, 2.5}).unsqueeze(0)), 1e-6);
}

TEST(FireTest, IsSymmetric) {
  at::manual_seed(2);
  const auto encoding = Make("fire", MakeSpec(2, 4, Trained(2, 9, 0.5F, 6.F)));
  const at::Tensor bias = *encoding->ScoreBias(MakeTile(Span(0, 40), Span(0, 40)));
  EXPECT_LT(LargestError(bias, bias.transpose(1, 2)), 2e-6);
}

TEST(FireTest, AnyPositionHasABias) {
  at::manual_seed(3);
  const Weights weights = Trained(2, 8, 2.F, 512.F);
  const auto encoding = Make("fire", MakeSpec(2, 4, weights));
  EXPECT_EQ(encoding->position_limit(), 0);
  for (const int64_t far : {int64_t{100000}, int64_t{1} << 40}) {
    const Tile tile = MakeTile(Span(far, 5), Span(far - 3, 9));
    EXPECT_LT(LargestError(*encoding->ScoreBias(tile), Expected(weights, tile)), 3e-6);
  }
}

// A network that changes nothing, so the bias is the share: off by half a unit in the last place.
TEST(FireTest, TheShareIsRoundedOnce) {
  const at::Tensor zero = at::zeros({1});
  const at::Tensor one = at::ones({1, 1});
  for (const float threshold : {10.F, 5000.F}) {
    const Weights weights = {{"positional.mlp.0.weight", one}, {"positional.mlp.0.bias", zero},
                             {"positional.mlp.2.weight", one}, {"positional.mlp.2.bias", zero},
                             {"positional.c", zero + 0.7},     {"positional.L", zero + threshold}};
    const Tile tile = MakeTile({0, 1, 2, 3, 4}, Span(4000, 90));
    const at::Tensor expected = Expected(weights, tile);
    const at::Tensor bias = *Make("fire", MakeSpec(1, 4, weights))->ScoreBias(tile);
    EXPECT_LT(LargestError(bias / expected, at::ones_like(expected)), 6.1e-8);
  }
}

// More pairs than are computed at once, and not a multiple of that: 301 * 301 * 64 units.
TEST(FireTest, BigTilesAreTheSameAsTheirRows) {
  at::manual_seed(4);
  const Weights weights = Trained(2, 64, 1.F, 8.F);
  const auto encoding = Make("fire", MakeSpec(2, 4, weights));
  const at::Tensor whole = *encoding->ScoreBias(MakeTile(Span(0, 301), Span(0, 301)));
  for (const int64_t row : {0, 1, 54, 55, 163, 299, 300}) {
    const Tile tile = MakeTile({row}, Span(0, 301));
    EXPECT_LT(LargestError(whole.narrow(1, row, 1), Expected(weights, tile)), 2e-5) << row;
  }
}

TEST(FireTest, LayersMayHaveTheirOwn) {
  at::manual_seed(5);
  Weights weights = Trained(2, 5, 1.F, 4.F);
  // Of another width than that of the other layers.
  const Weights own = Trained(2, 3, 2.F, 9.F);
  for (const auto& [role, tensor] : own) weights["layers.1." + role] = tensor;
  EncodingSpec spec = MakeSpec(2, 4, weights, {}, 3);
  spec.layers = {0, 1};
  const auto encoding = Make("fire", spec);
  const auto tile = [](int64_t layer) { return MakeTile(Span(0, 12), Span(0, 12), layer); };
  EXPECT_LT(LargestError(*encoding->ScoreBias(tile(0)), Expected(weights, tile(0))), 3e-6);
  EXPECT_LT(LargestError(*encoding->ScoreBias(tile(1)), Expected(own, tile(1))), 3e-6);
  EXPECT_FALSE(encoding->ScoreBias(tile(2)).has_value());
  EXPECT_FALSE(encoding->Similarity(2, Ints({1})).has_value());
}

TEST(FireTest, SimilarityIsTheBias) {
  at::manual_seed(6);
  const Weights weights = Trained(2, 5, 1.F, 4.F);
  const at::Tensor similarity =
      *Make("fire", MakeSpec(2, 4, weights))->Similarity(0, Ints({8, 2, 100000}));
  EXPECT_EQ(similarity.scalar_type(), at::kDouble);
  EXPECT_LT(LargestError(similarity, Expected(weights, MakeTile({8, 2, 100000}, {8, 2, 100000}))),
            3e-6);
}

TEST(FireTest, RefusesMissingAndBadTensors) {
  for (const auto& [role, tensor] : ByHand()) {
    Weights weights = ByHand();
    weights.erase(role);
    EXPECT_THAT(ErrorOf("fire", MakeSpec(2, 4, weights)), HasSubstr("\"layers.0." + role + "\""));
    weights[role] = at::zeros({2, 3, 4});
    EXPECT_THAT(ErrorOf("fire", MakeSpec(2, 4, weights)), HasSubstr("\"" + role + "\" has shape"));
  }
  for (const std::string role : {"positional.c", "positional.L"}) {
    for (const float bad : {0.F, -1.F, std::nanf(""), std::numeric_limits<float>::infinity()}) {
      Weights weights = ByHand();
      weights[role] = at::tensor({bad});
      EXPECT_THAT(ErrorOf("fire", MakeSpec(2, 4, weights)),
                  HasSubstr("\"" + role + "\" of layer 0 is"));
    }
  }
}

TEST(FireTest, RefusesNetworksThatDoNotFitTogether) {
  Weights weights = ByHand();
  weights["positional.mlp.0.bias"] = at::zeros({2});
  EXPECT_THAT(ErrorOf("fire", MakeSpec(2, 4, weights)),
              HasSubstr("\"positional.mlp.0.bias\" of layer 0 is for 2 hidden units"));
  weights = ByHand();
  weights["positional.mlp.2.weight"] = at::zeros({2, 3});
  EXPECT_THAT(ErrorOf("fire", MakeSpec(2, 4, weights)),
              HasSubstr("\"positional.mlp.2.weight\" of layer 0 is for 3 hidden units"));
  weights["positional.mlp.0.weight"] = at::zeros({0, 1});
  EXPECT_THAT(ErrorOf("fire", MakeSpec(2, 4, weights)),
              HasSubstr("\"positional.mlp.0.weight\" has no hidden units"));
  EXPECT_THAT(ErrorOf("fire", MakeSpec(3, 4, ByHand())), HasSubstr("has shape [2, 1]"));
  EXPECT_THAT(ErrorOf("fire", MakeSpec(2, 4, ByHand(), {{"c", "1"}})), HasSubstr("\"c\""));
}

}  // namespace
}  // namespace heed
