#include "model/encoder/weights.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/model/encoder/fake_weights.h"

namespace heed {
namespace {

// A matrix by rows.
at::Tensor Rows(std::vector<std::vector<float>> rows) {
  std::vector<at::Tensor> tensors;
  for (const std::vector<float>& row : rows) tensors.push_back(at::tensor(row));
  return at::stack(tensors);
}

// A tensor of the file whose elements are 0, 1, 2, … in that form.
at::Tensor Counted(std::vector<int64_t> shape, WeightForm form, int64_t parts = 1) {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>(i));
  FakeWeights fake;
  fake.Add("x", std::move(shape), values, form, parts);
  return Weights(fake.map()).Get("x");
}

TEST(WeightFormTest, Plain) {
  EXPECT_TRUE(Counted({2, 3}, WeightForm::kPlain).equal(Rows({{0, 1, 2}, {3, 4, 5}})));
  EXPECT_TRUE(Counted({3}, WeightForm::kPlain).equal(at::tensor({0.F, 1.F, 2.F})));
}

// [in 2, H 2, Dh 3]: input 0 holds 0 … 5, input 1 the rest.
TEST(WeightFormTest, TransposedJoinsHeadsAndTurnsTheMatrix) {
  EXPECT_TRUE(Counted({2, 2, 3}, WeightForm::kTransposed)
                  .equal(Rows({{0, 6}, {1, 7}, {2, 8}, {3, 9}, {4, 10}, {5, 11}})));
}

TEST(WeightFormTest, FlattenedJoinsHeads) {
  EXPECT_TRUE(Counted({2, 2, 3}, WeightForm::kFlattened)
                  .equal(Rows({{0, 1, 2, 3, 4, 5}, {6, 7, 8, 9, 10, 11}})));
}

// Two heads of one row: q0, k0, v0, q1, k1, v1 become q0, q1, k0, k1, v0, v1.
TEST(WeightFormTest, QkvPerHeadGathersQueriesKeysAndValues) {
  EXPECT_TRUE(Counted({6, 2}, WeightForm::kQkvPerHead, 2)
                  .equal(Rows({{0, 1}, {6, 7}, {2, 3}, {8, 9}, {4, 5}, {10, 11}})));
  // One head of two rows stands in order already.
  EXPECT_TRUE(
      Counted({6, 1}, WeightForm::kQkvPerHead, 1).equal(Rows({{0}, {1}, {2}, {3}, {4}, {5}})));
}

// Outputs 0 and 1 see inputs 0 and 1, outputs 2 and 3 see inputs 2 and 3.
TEST(WeightFormTest, GroupedIsBlockDiagonal) {
  EXPECT_TRUE(Counted({4, 2, 1}, WeightForm::kGrouped, 2)
                  .equal(Rows({{0, 1, 0, 0}, {2, 3, 0, 0}, {0, 0, 4, 5}, {0, 0, 6, 7}})));
  EXPECT_TRUE(Counted({2, 2, 1}, WeightForm::kGrouped, 1).equal(Rows({{0, 1}, {2, 3}})));
}

// 1.5 in every type of the format that holds weights.
TEST(WeightsTest, EveryTypeBecomesFloat32) {
  FakeWeights fake;
  const uint16_t half = 0x3E00;
  const uint16_t bfloat = 0x3FC0;
  const double exact = 1.5;
  fake.Add("f32", {1}, {1.5F});
  fake.AddBytes("f16", DType::kF16, {1}, &half, sizeof(half));
  fake.AddBytes("bf16", DType::kBF16, {1}, &bfloat, sizeof(bfloat));
  fake.AddBytes("f64", DType::kF64, {1}, &exact, sizeof(exact));
  const Weights weights(fake.map());
  for (const char* const role : {"f32", "f16", "bf16", "f64"}) {
    const at::Tensor tensor = weights.Get(role);
    EXPECT_EQ(tensor.scalar_type(), at::kFloat) << role;
    EXPECT_EQ(tensor.item<float>(), 1.5F) << role;
  }
}

TEST(WeightsTest, IntegersAreNoWeights) {
  FakeWeights fake;
  const int32_t one = 1;
  fake.AddBytes("x", DType::kI32, {1}, &one, sizeof(one));
  EXPECT_THROW(Weights(fake.map()).Get("x"), std::logic_error);
}

TEST(WeightsTest, FindAndGet) {
  FakeWeights fake;
  fake.Add("here", {1}, {2});
  const Weights weights(fake.map());
  EXPECT_TRUE(weights.Has("here"));
  EXPECT_FALSE(weights.Has("there"));
  EXPECT_FALSE(weights.WasRead("here"));
  EXPECT_EQ(weights.Find("there"), std::nullopt);
  EXPECT_THROW(weights.Get("there"), std::logic_error);
  EXPECT_EQ(weights.Find("here")->item<float>(), 2);
  EXPECT_TRUE(weights.WasRead("here"));
  EXPECT_FALSE(weights.WasRead("there"));
}

// The file may go away: what was handed out is a copy.
TEST(WeightsTest, CopiesOutOfTheFile) {
  at::Tensor kept;
  {
    FakeWeights fake;
    fake.Add("x", {2}, {1, 2});
    kept = Weights(fake.map()).Get("x");
    auto* const data = const_cast<std::byte*>(fake.map().tensors.at("x").view.data.data());
    std::memset(data, 0, 2 * sizeof(float));
  }
  EXPECT_TRUE(kept.equal(at::tensor({1.F, 2.F})));
}

TEST(WeightsTest, JoinedLinearKeepsTheOrderOfItsRoles) {
  FakeWeights fake;
  fake.Add("a.weight", {1, 2}, {1, 2});
  fake.Add("b.weight", {2, 2}, {3, 4, 5, 6});
  fake.Add("a.bias", {1}, {7});
  fake.Add("b.bias", {2}, {8, 9});
  const Linear joined = Weights(fake.map()).GetJoinedLinear({"b", "a"});
  EXPECT_TRUE(joined.weight.equal(Rows({{3, 4}, {5, 6}, {1, 2}})));
  EXPECT_TRUE(joined.bias.equal(at::tensor({8.F, 9.F, 7.F})));
}

TEST(WeightsTest, LinearWithoutABiasHasNone) {
  FakeWeights fake;
  fake.Add("a.weight", {1, 1}, {1});
  fake.Add("b.weight", {1, 1}, {2});
  const Weights weights(fake.map());
  EXPECT_FALSE(weights.GetLinear("a").bias.defined());
  EXPECT_FALSE(weights.GetJoinedLinear({"a", "b"}).bias.defined());
  EXPECT_THROW(weights.GetLinear("c"), std::logic_error);
}

TEST(WeightsTest, NormIsAsTheFileHasIt) {
  FakeWeights fake;
  fake.Add("n.weight", {1}, {3});
  const Weights weights(fake.map());
  const Norm norm = weights.GetNorm("n", NormKind::kRmsNorm, 0.5);
  EXPECT_EQ(norm.kind, NormKind::kRmsNorm);
  EXPECT_EQ(norm.eps, 0.5);
  EXPECT_EQ(norm.weight.item<float>(), 3);
  EXPECT_FALSE(norm.bias.defined());
  EXPECT_FALSE(weights.GetNorm("other", NormKind::kLayerNorm, 1).weight.defined());
}

TEST(WeightsTest, OnlyMatricesOfLinearLayersAreKeptInBfloat16) {
  FakeWeights fake;
  fake.AddRandom("a.weight", {3, 5});
  fake.AddRandom("a.bias", {3});
  fake.AddRandom("n.weight", {5});
  fake.AddRandom("table", {7, 5});
  const Weights weights(fake.map(), at::kBFloat16);
  const Linear linear = weights.GetLinear("a");
  EXPECT_EQ(linear.weight.scalar_type(), at::kBFloat16);
  EXPECT_EQ(linear.bias.scalar_type(), at::kFloat);
  EXPECT_EQ(weights.bytes(), 3 * 5 * 2 + 3 * 4);
  EXPECT_EQ(weights.GetNorm("n", NormKind::kLayerNorm, 1).weight.scalar_type(), at::kFloat);
  EXPECT_EQ(weights.Get("table").scalar_type(), at::kFloat);
  EXPECT_EQ(weights.bytes(), 3 * 5 * 2 + 3 * 4 + 5 * 4 + 7 * 5 * 4);
}

TEST(PartsTest, ATensorOfTwoRolesCountsOnceForTheFirst) {
  FakeWeights fake;
  fake.AddRandom("layers.0.attention.key.weight", {3, 5});
  fake.AddRandom("layers.0.norm.weight", {2});
  fake.map().tensors["layers.0.positional.key.weight"] =
      fake.map().tensors["layers.0.attention.key.weight"];
  EXPECT_EQ(ParametersByPart(fake.map()),
            (std::map<std::string, int64_t>{{"attention", 15}, {"norms", 2}}));
}

TEST(PartsTest, EveryRoleHasAPart) {
  for (const auto& [role, part] :
       std::map<std::string, std::string>{{"embeddings.word", "embeddings"},
                                          {"embeddings.norm.weight", "embeddings"},
                                          {"positional.table", "positional"},
                                          {"layers.3.positional.relative_norm.bias", "positional"},
                                          {"layers.3.attention.query.weight", "attention"},
                                          {"layers.3.attention.norm.weight", "norms"},
                                          {"final_norm.weight", "norms"},
                                          {"layers.3.intermediate.weight", "feed-forward"},
                                          {"layers.3.output.bias", "feed-forward"},
                                          {"convolution.norm.weight", "convolution"},
                                          {"head.norm.weight", "head"},
                                          {"classifier.weight", "head"}}) {
    EXPECT_EQ(PartOf(role), part) << role;
  }
}

}  // namespace
}  // namespace heed
