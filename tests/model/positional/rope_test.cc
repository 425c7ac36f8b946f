#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model/positional/tile.h"

namespace heed {
namespace {

using testing::HasSubstr;

// Tokens of one text with these positions; `length` 0: the largest + 1.
TokenPositions Text(const at::Tensor& positions, int64_t length = 0) {
  if (length == 0) length = positions.max().item<int64_t>() + 1;
  return {positions, at::full_like(positions, length)};
}

QueryKeyValue Transformed(const PositionalEncoding& encoding, const TokenPositions& tokens,
                          const at::Tensor& x, int64_t layer = 0) {
  QueryKeyValue projections{x.clone(), x.clone(), x.clone()};
  encoding.TransformQueryKey(layer, tokens, projections);
  return projections;
}

// What float32 leaves of a rotated vector with components of up to about 4.
constexpr double kRounding = 1e-6;

// One parameter set of the reference: what it is called there, and our options for it.
struct Case {
  std::string name;
  Options options;
  int64_t max_positions = 0;
  int64_t length = 0;
};

const Options kYarn = {{"scaling", "yarn"}, {"factor", "4"}, {"original_max_positions", "2048"}};
const Options kYarnPaper = {{"scaling", "yarn"},
                            {"factor", "4"},
                            {"original_max_positions", "2048"},
                            {"ramp", "rotations"}};

std::vector<Case> Cases() {
  return {
      {"none", {}},
      {"linear", {{"scaling", "linear"}, {"factor", "4"}}},
      {"dynamic_ntk_8192", {{"scaling", "dynamic"}, {"factor", "2"}}, 2048, 8192},
      {"yarn", kYarn},
      {"yarn_paper", kYarnPaper},
      {"llama3", {{"scaling", "llama3"}, {"factor", "8"}}, 2048},
  };
}

double ErrorOn(const std::string& prefix, const std::string& name, const Case& c, bool interleaved,
               const std::string& base) {
  const Reference reference("rope");
  const at::Tensor q = reference[prefix + "q"].to(at::kFloat).transpose(0, 1).contiguous();
  Options options = c.options;
  options["base"] = base;
  if (interleaved) options["layout"] = "interleaved";
  EncodingSpec spec = MakeSpec(q.size(1), q.size(2), {}, options);
  spec.max_positions = c.max_positions;
  const auto encoding = Make("rope", spec);
  const TokenPositions tokens = Text(reference[prefix + "positions"], c.length);
  const at::Tensor turned = Transformed(*encoding, tokens, q).query;
  const std::string layout = interleaved ? ".interleaved.q" : ".half.q";
  return LargestError(turned.transpose(0, 1), reference[name + layout]);
}

TEST(RopeTest, EqualsTheReference) {
  for (const Case& c : Cases()) {
    EXPECT_LT(ErrorOn("", "base10000." + c.name, c, true, "10000"), kRounding) << c.name;
    EXPECT_LT(ErrorOn("", "base10000." + c.name, c, false, "10000"), kRounding) << c.name;
    EXPECT_LT(ErrorOn("", "base500000." + c.name, c, false, "500000"), kRounding) << c.name;
  }
}

TEST(RopeTest, EqualsTheReferenceOfOtherSizes) {
  const Options yarn = {{"scaling", "yarn"}, {"factor", "16"}, {"beta_fast", "16"}};
  for (const Case& c :
       std::vector<Case>{{"none", {}},
                         {"linear", {{"scaling", "linear"}, {"factor", "3"}}},
                         {"dynamic_ntk", {{"scaling", "dynamic"}, {"factor", "3"}}, 1024, 6000},
                         {"yarn", yarn, 1024},
                         {"llama3", {{"scaling", "llama3"}, {"factor", "8"}}, 1024}}) {
    EXPECT_LT(ErrorOn("extra.", "extra." + c.name, c, true, "1000"), kRounding) << c.name;
    EXPECT_LT(ErrorOn("extra.", "extra." + c.name, c, false, "1000"), kRounding) << c.name;
  }
}

TEST(RopeTest, KeysTurnLikeQueries) {
  const Reference reference("rope");
  const at::Tensor k = reference["k"].to(at::kFloat).transpose(0, 1).contiguous();
  const auto encoding = Make("rope", MakeSpec(2, 64));
  const QueryKeyValue x = Transformed(*encoding, Text(reference["positions"]), k);
  EXPECT_LT(LargestError(x.key.transpose(0, 1), reference["base10000.none.half.k"]), kRounding);
  EXPECT_TRUE(x.key.equal(x.query));
  EXPECT_TRUE(x.value.equal(k)) << "values turn only by choice";
}

TEST(RopeTest, ValuesTurnByChoice) {
  at::manual_seed(1);
  const at::Tensor x = at::randn({3, 1, 8});
  const auto encoding = Make("rope", MakeSpec(1, 8, {}, {{"rotate_value", "true"}}));
  const QueryKeyValue turned = Transformed(*encoding, Text(Ints({0, 4, 2})), x);
  EXPECT_TRUE(turned.value.equal(turned.query));
  EXPECT_FALSE(turned.value.equal(x));
}

// By hand: with base 100 and 4 of 6 dimensions the angles are p and p / 10.
TEST(RopeTest, PartOfTheDimensions) {
  const at::Tensor x = at::tensor({1.F, 2.F, 3.F, 4.F, 5.F, 6.F}).view({1, 1, 6});
  const double c1 = std::cos(3.0), s1 = std::sin(3.0), c2 = std::cos(0.3), s2 = std::sin(0.3);
  const auto turned = [&](const std::string& layout) {
    const auto encoding =
        Make("rope", MakeSpec(1, 6, {}, {{"base", "100"}, {"dims", "4"}, {"layout", layout}}));
    return Transformed(*encoding, Text(Ints({3})), x).query;
  };
  const at::Tensor halves =
      at::tensor({c1 - 3 * s1, 2 * c2 - 4 * s2, 3 * c1 + s1, 4 * c2 + 2 * s2, 5.0, 6.0});
  EXPECT_LT(LargestError(turned("halves"), halves.view({1, 1, 6})), kRounding);
  const at::Tensor interleaved =
      at::tensor({c1 - 2 * s1, 2 * c1 + s1, 3 * c2 - 4 * s2, 4 * c2 + 3 * s2, 5.0, 6.0});
  EXPECT_LT(LargestError(turned("interleaved"), interleaved.view({1, 1, 6})), kRounding);
}

TEST(RopeTest, DynamicScalingGoesByEachTextsLength) {
  at::manual_seed(2);
  EncodingSpec spec = MakeSpec(1, 8, {}, {{"scaling", "dynamic"}, {"factor", "2"}});
  spec.max_positions = 16;
  const auto dynamic = Make("rope", spec);
  const auto plain = Make("rope", MakeSpec(1, 8));
  const at::Tensor x = at::randn({4, 1, 8});
  // Two tokens of a short text and two of a long one.
  const at::Tensor positions = Ints({3, 15, 3, 15});
  const at::Tensor mixed = Transformed(*dynamic, {positions, Ints({16, 16, 40, 40})}, x).query;
  const at::Tensor as_trained = Transformed(*plain, Text(positions), x).query;
  EXPECT_LT(LargestError(mixed.narrow(0, 0, 2), as_trained.narrow(0, 0, 2)), kRounding);
  // The paper's formula for the other two: base (s l / L - (s - 1))^(d / (d-2)).
  const double base = 10000 * std::pow(2 * 40.0 / 16 - 1, 8.0 / 6);
  const auto stretched = Make("rope", MakeSpec(1, 8, {}, {{"base", std::to_string(base)}}));
  const at::Tensor expected = Transformed(*stretched, Text(positions), x).query;
  EXPECT_LT(LargestError(mixed.narrow(0, 2, 2), expected.narrow(0, 2, 2)), kRounding);
  EXPECT_GT(LargestError(mixed.narrow(0, 2, 2), as_trained.narrow(0, 2, 2)), 0.01);
}

// RoFormer's table, here with other numbers than the formula's, so that its use shows.
TEST(RopeTest, TableOfTheCheckpointIsUsed) {
  const at::Tensor table = at::tensor({0.F, 0.F, 1.F, 1.F, 0.6F, 0.8F, 0.8F, -0.6F}).view({2, 4});
  const auto encoding = Make(
      "rope", MakeSpec(1, 4, {{"positional.sin_cos_table", table}}, {{"layout", "interleaved"}}));
  EXPECT_EQ(encoding->position_limit(), 2);
  const at::Tensor x = at::tensor({1.F, 2.F, 3.F, 4.F}).view({1, 1, 4});
  EXPECT_TRUE(Transformed(*encoding, Text(Ints({0})), x).query.equal(x));
  // (1, 2) by sin 0.6, cos 0.8; (3, 4) by sin 0.8, cos -0.6.
  const at::Tensor expected = at::tensor({-0.4, 2.2, -5.0, 0.0}).view({1, 1, 4});
  EXPECT_LT(LargestError(Transformed(*encoding, Text(Ints({1})), x).query, expected), kRounding);
  const at::Tensor similarity = *encoding->Similarity(0, Ints({0, 1}));
  EXPECT_LT(LargestError(similarity, at::tensor({2.0, 0.2, 0.2, 2.0}).view({1, 2, 2})), kRounding);
}

TEST(RopeTest, ActsInItsLayersOnly) {
  EncodingSpec spec = MakeSpec(1, 4, {}, {}, 3);
  spec.layers = {1};
  const auto encoding = Make("rope", spec);
  const at::Tensor x = at::ones({1, 1, 4});
  EXPECT_TRUE(Transformed(*encoding, Text(Ints({5})), x, 0).query.equal(x));
  EXPECT_FALSE(Transformed(*encoding, Text(Ints({5})), x, 1).query.equal(x));
  EXPECT_FALSE(encoding->Similarity(2, Ints({0, 1})).has_value());
  EXPECT_TRUE(encoding->Similarity(1, Ints({0, 1})).has_value());
}

TEST(RopeTest, AttentionFactorOfYarn) {
  const at::Tensor x = at::tensor({1.F, 0.F, 0.F, 0.F}).view({1, 1, 4});
  const auto size = [&](Options more) {
    more.insert({{"scaling", "yarn"}, {"factor", "8"}, {"original_max_positions", "64"}});
    const auto encoding = Make("rope", MakeSpec(1, 4, {}, more));
    return Transformed(*encoding, Text(Ints({0})), x).query[0][0][0].item<float>();
  };
  const double log8 = std::log(8.0);
  EXPECT_NEAR(size({}), 0.1 * log8 + 1, 1e-6);
  EXPECT_NEAR(size({{"attention_factor", "0.5"}}), 0.5, 1e-6);
  EXPECT_NEAR(size({{"mscale", "2"}, {"mscale_all_dim", "3"}}), (0.2 * log8 + 1) / (0.3 * log8 + 1),
              1e-6);
  // One alone does not count, as in transformers.
  EXPECT_NEAR(size({{"mscale", "2"}}), 0.1 * log8 + 1, 1e-6);
}

TEST(RopeTest, SimilarityIsTheKernelOfDistances) {
  const auto encoding = Make("rope", MakeSpec(2, 8, {}, {{"base", "100"}}));
  const at::Tensor s = (*encoding->Similarity(0, Ints({0, 1, 5})))[0];
  double expected = 0;
  for (int i = 0; i < 4; ++i) expected += std::cos(4 * std::pow(100.0, -2.0 * i / 8));
  EXPECT_NEAR(s[1][2].item<double>(), expected, 1e-12);
  EXPECT_NEAR(s[2][1].item<double>(), expected, 1e-12);
  EXPECT_NEAR(s[2][2].item<double>(), 4, 1e-12);
}

TEST(RopeTest, RefusesWhatItCannotDo) {
  const auto error = [](const Options& options, int64_t head_size = 8) {
    return ErrorOf("rope", MakeSpec(1, head_size, {}, options));
  };
  EXPECT_THAT(error({}, 7), HasSubstr("head size (7)"));
  EXPECT_THAT(error({{"dims", "3"}}), HasSubstr("\"dims\" (3)"));
  EXPECT_THAT(error({{"dims", "10"}}), HasSubstr("\"dims\" (10)"));
  EXPECT_THAT(error({{"base", "1"}}), HasSubstr("\"base\" (1)"));
  EXPECT_THAT(error({{"scaling", "ntk"}}), HasSubstr("\"scaling\" (ntk)"));
  EXPECT_THAT(error({{"scaling", "linear"}}), HasSubstr("\"factor\""));
  EXPECT_THAT(error({{"scaling", "yarn"}, {"factor", "2"}}),
              HasSubstr("\"original_max_positions\""));
  EXPECT_THAT(error({{"factor", "2"}}), HasSubstr("\"factor\""));
  EXPECT_THAT(error({{"scaling", "linear"}, {"factor", "2"}, {"beta_fast", "2"}}),
              HasSubstr("\"beta_fast\""));
  EXPECT_THAT(error({{"scaling", "dynamic"}, {"factor", "2"}, {"original_max_positions", "9"}}, 2),
              HasSubstr("\"dims\""));
  Options yarn = kYarn;
  yarn["beta_slow"] = "64";
  EXPECT_THAT(error(yarn), HasSubstr("\"beta_fast\""));
  const Weights table = {{"positional.sin_cos_table", at::zeros({2, 8})}};
  EXPECT_THAT(ErrorOf("rope", MakeSpec(1, 8, table, {{"scaling", "linear"}, {"factor", "2"}})),
              HasSubstr("\"scaling\" (linear)"));
}

}  // namespace
}  // namespace heed
