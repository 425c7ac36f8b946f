#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model/positional/tile.h"

namespace heed {
namespace {

EncodingSpec Spec(int64_t hidden_size, const Options& options = {}, int64_t max_positions = 0) {
  EncodingSpec spec = MakeSpec(1, hidden_size, {}, options);
  spec.max_positions = max_positions;
  return spec;
}

double ErrorAgainst(const at::Tensor& reference, const at::Tensor& positions,
                    const EncodingSpec& spec) {
  const auto encoding = Make("sinusoidal", spec);
  const at::Tensor x = at::zeros(reference.sizes(), at::kFloat);
  return LargestError(encoding->AddToEmbeddings(x, {positions, positions + 1}), reference);
}

constexpr double kRounding = 6e-8;  // of a value up to 1 in float32

TEST(SinusoidalTest, EqualsTheReference) {
  const Reference reference("sinusoidal");
  const at::Tensor near = at::arange(1024, at::kLong);
  const at::Tensor far = at::arange(100000, 100032, at::kLong);
  EXPECT_LT(ErrorAgainst(reference["interleaved.positions_0_1023"], near, Spec(64)), kRounding);
  EXPECT_LT(ErrorAgainst(reference["interleaved.positions_0_1023"], near, Spec(64, {}, 2048)),
            kRounding);
  EXPECT_LT(ErrorAgainst(reference["interleaved.positions_100000_100031"], far, Spec(64)),
            kRounding);
  EXPECT_LT(ErrorAgainst(reference["halves.positions_0_63"], near.narrow(0, 0, 64),
                         Spec(64, {{"layout", "halves"}})),
            kRounding);
  EXPECT_LT(ErrorAgainst(reference["extra.interleaved"], reference["extra.positions"], Spec(130)),
            kRounding);
}

TEST(SinusoidalTest, PositionsMayComeInAnyOrder) {
  const Reference reference("sinusoidal");
  const at::Tensor positions = Ints({700, 3, 511, 512, 3});
  const at::Tensor rows = reference["interleaved.positions_0_1023"].index_select(0, positions);
  EXPECT_LT(ErrorAgainst(rows, positions, Spec(64)), kRounding);
}

// By hand: with base 100 and D = 4 the second frequency is 1/10.
TEST(SinusoidalTest, BaseSetsTheFrequencies) {
  const at::Tensor row =
      at::tensor({std::sin(5.0), std::cos(5.0), std::sin(0.5), std::cos(0.5)}).view({1, 4});
  EXPECT_LT(ErrorAgainst(row, Ints({5}), Spec(4, {{"base", "100"}})), kRounding);
}

TEST(SinusoidalTest, AddsToWhatIsThere) {
  const at::Tensor x =
      Make("sinusoidal", Spec(2))->AddToEmbeddings(at::full({1, 2}, 3.F), {Ints({0}), Ints({1})});
  EXPECT_TRUE(x.equal(at::tensor({3.F, 4.F}).view({1, 2})));
}

TEST(SinusoidalTest, SimilarityIsToeplitzAndLargestOnTheDiagonal) {
  const auto encoding = Make("sinusoidal", Spec(48));
  EXPECT_EQ(encoding->position_limit(), 0);
  const at::Tensor similarity = *encoding->Similarity(0, at::arange(300, at::kLong));
  ASSERT_EQ(similarity.sizes(), (std::vector<int64_t>{1, 300, 300}));
  const at::Tensor s = similarity[0];
  EXPECT_LT(LargestError(s.slice(0, 1).slice(1, 1), s.slice(0, 0, 299).slice(1, 0, 299)), 1e-12);
  EXPECT_LT(LargestError(s.diagonal(), at::full({300}, 24.0, at::kDouble)), 1e-12);
  EXPECT_TRUE(std::get<1>(s.max(1)).equal(at::arange(300, at::kLong)));
}

TEST(SinusoidalTest, RefusesOddSizesAndBadOptions) {
  EXPECT_THAT(ErrorOf("sinusoidal", Spec(7)), testing::HasSubstr("hidden_size (7)"));
  EXPECT_THAT(ErrorOf("sinusoidal", Spec(8, {{"base", "0"}})), testing::HasSubstr("\"base\" (0)"));
  EXPECT_THAT(ErrorOf("sinusoidal", Spec(8, {{"layout", "half"}})),
              testing::HasSubstr("\"layout\" (half)"));
  EXPECT_THAT(ErrorOf("sinusoidal", Spec(8, {{"bse", "1"}})), testing::HasSubstr("\"bse\""));
}

}  // namespace
}  // namespace heed
