#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/api/error.h"
#include "tests/model/positional/tile.h"

namespace heed {
namespace {

EncodingSpec SpecWithTable(const at::Tensor& table, const Options& options = {}) {
  return MakeSpec(1, 2, {{"positional.table", table}}, options);
}

// Row p is (p, 10 p).
at::Tensor Ramp(int64_t rows) {
  const at::Tensor p = at::arange(rows, at::kFloat);
  return at::stack({p, p * 10}, 1);
}

at::Tensor Encode(const PositionalEncoding& encoding, const at::Tensor& positions,
                  const at::Tensor& lengths) {
  return encoding.AddToEmbeddings(at::zeros({positions.size(0), 2}), {positions, lengths});
}

// Golden, by hand: row p of the table is added to the token at position p.
TEST(LearnedTest, AddsTheRowOfEachPosition) {
  const at::Tensor table = at::tensor({1.F, 2.F, 10.F, 20.F, 100.F, 200.F}).view({3, 2});
  const auto encoding = Make("learned", SpecWithTable(table));
  const TokenPositions tokens = {Ints({2, 0, 2}), Ints({3, 3, 3})};
  const at::Tensor x = encoding->AddToEmbeddings(at::ones({3, 2}), tokens);
  EXPECT_TRUE(x.equal(at::tensor({101.F, 201.F, 2.F, 3.F, 101.F, 201.F}).view({3, 2})));
}

TEST(LearnedTest, LimitIsTheTable) {
  EXPECT_EQ(Make("learned", SpecWithTable(at::zeros({7, 2})))->position_limit(), 7);
}

TEST(LearnedTest, OffsetSkipsTheFirstRows) {
  const auto encoding = Make("learned", SpecWithTable(Ramp(7), {{"offset", "2"}}));
  EXPECT_EQ(encoding->position_limit(), 5);
  const at::Tensor x = Encode(*encoding, Ints({0, 4, -1}), Ints({5, 5, 5}));
  EXPECT_TRUE(x.equal(at::tensor({2.F, 20.F, 6.F, 60.F, 1.F, 10.F}).view({3, 2})));
}

// By hand: 5 rows on 9 positions put position p at row p / 2.
TEST(LearnedTest, InterpolationFitsALongTextToTheTable) {
  const auto encoding = Make("learned", SpecWithTable(Ramp(5), {{"beyond", "interpolate"}}));
  EXPECT_EQ(encoding->position_limit(), 0);
  const at::Tensor x = Encode(*encoding, Ints({0, 3, 8, 3}), Ints({9, 9, 9, 4}));
  EXPECT_TRUE(x.equal(at::tensor({0.F, 0.F, 1.5F, 15.F, 4.F, 40.F, 3.F, 30.F}).view({4, 2})));
}

// A text as long as the table is not scaled; one token more is.
TEST(LearnedTest, InterpolationLeavesTextsThatFitUntouched) {
  const auto encoding = Make("learned", SpecWithTable(Ramp(5), {{"beyond", "interpolate"}}));
  EXPECT_TRUE(Encode(*encoding, Ints({4}), Ints({5})).equal(Ramp(5).narrow(0, 4, 1)));
  const at::Tensor scaled = Encode(*encoding, Ints({4}), Ints({6}));
  EXPECT_NEAR(scaled[0][0].item<float>(), 3.2F, 1e-6);
}

TEST(LearnedTest, InterpolationCountsFromTheOffset) {
  const auto encoding =
      Make("learned", SpecWithTable(Ramp(7), {{"offset", "2"}, {"beyond", "interpolate"}}));
  const at::Tensor x = Encode(*encoding, Ints({0, 3, 8}), Ints({9, 9, 9}));
  EXPECT_TRUE(x.equal(at::tensor({2.F, 20.F, 3.5F, 35.F, 6.F, 60.F}).view({3, 2})));
}

TEST(LearnedTest, SimilarityIsTheDotProductOfRows) {
  const auto encoding = Make("learned", SpecWithTable(Ramp(5)));
  const at::Tensor similarity = *encoding->Similarity(0, Ints({1, 3}));
  EXPECT_TRUE(similarity.equal(at::tensor({101., 303., 303., 909.}, at::kDouble).view({1, 2, 2})));
}

TEST(LearnedTest, RefusesAMissingTableAndOneOfAnotherWidth) {
  EXPECT_EQ(GetErrorDetail(MakePositionalEncoding("learned", MakeSpec(1, 2)).status()).reason,
            "MISSING_POSITION_TENSOR");
  const auto encoding = MakePositionalEncoding("learned", SpecWithTable(at::zeros({7, 3})));
  EXPECT_EQ(GetErrorDetail(encoding.status()).reason, "BAD_POSITION_TENSOR");
}

TEST(LearnedTest, RefusesBadOptions) {
  const at::Tensor table = at::zeros({7, 2});
  EXPECT_THAT(ErrorOf("learned", SpecWithTable(table, {{"bse", "10000"}})),
              testing::HasSubstr("\"bse\""));
  EXPECT_THAT(ErrorOf("learned", SpecWithTable(table, {{"offset", "7"}})),
              testing::HasSubstr("\"offset\" (7)"));
  EXPECT_THAT(ErrorOf("learned", SpecWithTable(table, {{"beyond", "clamp"}})),
              testing::HasSubstr("\"beyond\" (clamp)"));
}

}  // namespace
}  // namespace heed
