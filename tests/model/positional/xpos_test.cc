#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model/positional/tile.h"

namespace heed {
namespace {

using testing::HasSubstr;

// Tokens of one text with these positions.
TokenPositions Text(const at::Tensor& positions) {
  return {positions, at::full_like(positions, positions.max().item<int64_t>() + 1)};
}

// Queries and keys, [T, H, d], after the encoding.
QueryKeyValue Transformed(const PositionalEncoding& encoding, const TokenPositions& tokens,
                          const at::Tensor& query, const at::Tensor& key, int64_t layer = 0) {
  QueryKeyValue projections{query.clone(), key.clone(), at::empty({0})};
  encoding.TransformQueryKey(layer, tokens, projections);
  return projections;
}

// q·k of every pair, [H, T, T] float64. So a test sees the error of the encoding and not that of a
// float32 product.
at::Tensor Scores(const QueryKeyValue& x) {
  return at::einsum("ihd,jhd->hij", {x.query.to(at::kDouble), x.key.to(at::kDouble)});
}

// The largest error in units of what the terms of the score add up to without signs.
double RelativeError(const QueryKeyValue& x, const at::Tensor& expected) {
  const at::Tensor size =
      at::einsum("ihd,jhd->hij", {x.query.abs().to(at::kDouble), x.key.abs().to(at::kDouble)});
  return LargestError(Scores(x) / size, expected / size);
}

// What the file has for one set of parameters; q and k as [T, H, d].
double ErrorAgainstReference(const std::string& prefix, const EncodingSpec& spec, int64_t shift) {
  const Reference reference("xpos");
  const auto turned = [&](const std::string& name) {
    return reference[prefix + name].to(at::kFloat).transpose(0, 1).contiguous();
  };
  const at::Tensor q = turned("q");
  const at::Tensor k = turned("k");
  const QueryKeyValue x =
      Transformed(*Make("xpos", spec), Text(reference[prefix + "positions"] + shift), q, k);
  return RelativeError(x, reference[prefix + "qk"]);
}

// What float32 leaves of two rotated and scaled vectors.
constexpr double kRounding = 4e-7;

TEST(XposTest, ScoresEqualTheReference) {
  const EncodingSpec extra = MakeSpec(1, 48, {}, {{"scale_base", "256"}});
  EXPECT_LT(ErrorAgainstReference("", MakeSpec(2, 64), 0), kRounding);
  EXPECT_LT(ErrorAgainstReference("extra.", extra, 0), kRounding);
}

TEST(XposTest, ScoresDependOnDistancesOnly) {
  const EncodingSpec extra = MakeSpec(1, 48, {}, {{"scale_base", "256"}});
  EXPECT_LT(ErrorAgainstReference("", MakeSpec(2, 64), 30000), kRounding);
  EXPECT_LT(ErrorAgainstReference("extra.", extra, 14000), kRounding);
}

struct Parameters {
  double base = 10000;
  double scale_base = 512;
  double gamma = 0.4;
  bool interleaved = true;
  int64_t dims = 8;
};

double Zeta(const Parameters& with, int64_t pair) {
  return (2.0 * static_cast<double>(pair) / static_cast<double>(with.dims) + with.gamma) /
         (1 + with.gamma);
}

double Theta(const Parameters& with, int64_t pair) {
  return std::pow(with.base, -2.0 * static_cast<double>(pair) / static_cast<double>(with.dims));
}

// Section 2, dimension by dimension in float64: x [T, H, d], scaled by zeta^(sign (p - c) / s).
at::Tensor Expected(const Parameters& with, const at::Tensor& x, const TokenPositions& tokens,
                    double sign) {
  const at::Tensor y = x.to(at::kDouble).clone();
  for (int64_t t = 0; t < x.size(0); ++t) {
    const auto p = static_cast<double>(tokens.positions[t].item<int64_t>());
    const double c = static_cast<double>(tokens.lengths[t].item<int64_t>()) / 2;
    for (int64_t i = 0; i < with.dims / 2; ++i) {
      const double factor = std::pow(Zeta(with, i), sign * (p - c) / with.scale_base);
      const double cos = std::cos(p * Theta(with, i));
      const double sin = std::sin(p * Theta(with, i));
      const int64_t first = with.interleaved ? 2 * i : i;
      const int64_t second = with.interleaved ? 2 * i + 1 : i + with.dims / 2;
      const at::Tensor a = x.select(0, t).select(-1, first).to(at::kDouble);
      const at::Tensor b = x.select(0, t).select(-1, second).to(at::kDouble);
      y.select(0, t).select(-1, first).copy_(factor * (a * cos - b * sin));
      y.select(0, t).select(-1, second).copy_(factor * (b * cos + a * sin));
    }
  }
  return y;
}

// Four query heads that share two key heads of size 8, in two texts of different lengths. Each
// number is held to the size of its factor.
void ExpectEqualsTheFormula(const Options& options, const Parameters& with) {
  at::manual_seed(1);
  const auto encoding = Make("xpos", MakeSpec(4, 8, {}, options));
  const TokenPositions tokens{Ints({0, 1, 2, 900, 7, 0, 20000, 513}),
                              Ints({901, 901, 901, 901, 901, 20001, 20001, 20001})};
  const at::Tensor q = at::randn({8, 4, 8});
  const at::Tensor k = at::randn({8, 2, 8});
  const QueryKeyValue x = Transformed(*encoding, tokens, q, k);
  const auto error = [&](const at::Tensor& actual, const at::Tensor& original, double sign) {
    const at::Tensor expected = Expected(with, original, tokens, sign);
    const at::Tensor size = Expected(with, at::ones_like(original), tokens, sign).abs() + 1e-30;
    const at::Tensor floor = size.maximum(expected.abs());
    return LargestError(actual / floor, expected / floor);
  };
  EXPECT_EQ(x.query.scalar_type(), at::kFloat);
  EXPECT_LT(error(x.query, q, 1), 4e-6);
  EXPECT_LT(error(x.key, k, -1), 4e-6);
  // Whatever the size of single numbers, scores within a text are the formula's.
  const at::Tensor repeated = k.repeat_interleave(2, 1);
  QueryKeyValue heads{x.query, x.key.repeat_interleave(2, 1), x.value};
  for (const auto& [first, count] : {std::pair<int64_t, int64_t>{0, 5}, {5, 3}}) {
    const TokenPositions text{tokens.positions.narrow(0, first, count),
                              tokens.lengths.narrow(0, first, count)};
    const QueryKeyValue part{heads.query.narrow(0, first, count), heads.key.narrow(0, first, count),
                             heads.value};
    const QueryKeyValue exact{Expected(with, q.narrow(0, first, count), text, 1),
                              Expected(with, repeated.narrow(0, first, count), text, -1),
                              {}};
    EXPECT_LT(RelativeError(part, Scores(exact)), kRounding);
  }
}

TEST(XposTest, EqualsTheFormula) {
  ExpectEqualsTheFormula({}, {});
  ExpectEqualsTheFormula({{"layout", "halves"}}, {.interleaved = false});
  ExpectEqualsTheFormula({{"base", "100"}, {"scale_base", "2000"}, {"gamma", "0.7"}},
                         {.base = 100, .scale_base = 2000, .gamma = 0.7});
}

TEST(XposTest, TheDimensionsBeyondDimsPassThrough) {
  for (const bool interleaved : {true, false}) {
    const std::string layout = interleaved ? "interleaved" : "halves";
    ExpectEqualsTheFormula({{"dims", "6"}, {"layout", layout}},
                           {.interleaved = interleaved, .dims = 6});
  }
}

TEST(XposTest, FactorsAreCentredAndFiniteUpToTheLimit) {
  const auto encoding = Make("xpos", MakeSpec(1, 8));
  // 40 = limit / 2 * ln(1.4 / 0.4) / 512.
  const int64_t limit = encoding->position_limit();
  EXPECT_EQ(limit, 32695);
  const TokenPositions tokens = Text(Ints({0, limit - 1}));
  const at::Tensor ones = at::ones({2, 1, 8});
  const QueryKeyValue x = Transformed(*encoding, tokens, ones, ones);
  const auto length = [](const at::Tensor& y, int64_t t) {
    return y[t][0].narrow(0, 0, 2).to(at::kDouble).norm().item<double>();
  };
  EXPECT_NEAR(std::log(length(x.query, 0) / std::sqrt(2.0)), 40, 5e-3);
  EXPECT_NEAR(std::log(length(x.key, 0) / std::sqrt(2.0)), -40, 5e-3);
  EXPECT_NEAR(std::log(length(x.query, 1) / std::sqrt(2.0)), -40, 5e-3);
  EXPECT_NEAR(std::log(length(x.key, 1) / std::sqrt(2.0)), 40, 5e-3);
  const at::Tensor scores = at::einsum("ihd,jhd->ij", {x.query, x.key});
  EXPECT_TRUE(scores.isfinite().all().item<bool>());
}

TEST(XposTest, TheLimitFollowsTheOptions) {
  const auto limit = [](const Options& options) {
    return Make("xpos", MakeSpec(1, 8, {}, options))->position_limit();
  };
  EXPECT_EQ(limit({{"scale_base", "1024"}}), 65391);  // 80 * 1024 / ln(3.5)
  EXPECT_EQ(limit({{"gamma", "1"}}), 59092);          // 80 * 512 / ln(2)
  EXPECT_GT(limit({{"gamma", "1e-6"}, {"scale_base", "1"}}), 0);
}

TEST(XposTest, SimilarityIsTheKernel) {
  const Parameters with{.dims = 6};
  const auto encoding = Make("xpos", MakeSpec(2, 8, {}, {{"dims", "6"}}));
  const std::vector<int64_t> positions = {40, 0, 1, 30000, 512};
  const at::Tensor similarity = *encoding->Similarity(0, Ints(positions));
  EXPECT_EQ(similarity.scalar_type(), at::kDouble);
  ASSERT_EQ(similarity.sizes(), (std::vector<int64_t>{1, 5, 5}));
  for (size_t q = 0; q < 5; ++q) {
    for (size_t k = 0; k < 5; ++k) {
      const auto d = static_cast<double>(positions[q] - positions[k]);
      double sum = 0;
      double size = 0;
      for (int64_t i = 0; i < 3; ++i) {
        const double factor = std::pow(Zeta(with, i), d / 512);
        sum += factor * std::cos(d * Theta(with, i));
        size += factor;
      }
      EXPECT_NEAR(similarity[0][q][k].item<double>() / size, sum / size, 1e-11);
    }
  }
}

TEST(XposTest, ActsInItsLayersOnly) {
  EncodingSpec spec = MakeSpec(1, 4, {}, {}, 3);
  spec.layers = {1};
  const auto encoding = Make("xpos", spec);
  const at::Tensor x = at::ones({2, 1, 4});
  EXPECT_FALSE(Transformed(*encoding, Text(Ints({3, 4})), x, x, 1).query.equal(x));
  EXPECT_TRUE(Transformed(*encoding, Text(Ints({3, 4})), x, x, 2).query.equal(x));
  EXPECT_FALSE(encoding->Similarity(0, Ints({1})).has_value());
}

TEST(XposTest, RefusesBadOptionsAndSizes) {
  const auto error = [](const Options& options, int64_t head_size = 8) {
    return ErrorOf("xpos", MakeSpec(1, head_size, {}, options));
  };
  EXPECT_THAT(error({{"base", "0"}}), HasSubstr("\"base\" (0)"));
  EXPECT_THAT(error({{"scale_base", "-1"}}), HasSubstr("\"scale_base\" (-1)"));
  EXPECT_THAT(error({{"gamma", "0"}}), HasSubstr("\"gamma\" (0)"));
  EXPECT_THAT(error({{"layout", "half"}}), HasSubstr("\"layout\" (half)"));
  EXPECT_THAT(error({{"dims", "5"}}), HasSubstr("\"dims\" (5) is odd"));
  EXPECT_THAT(error({{"dims", "10"}}), HasSubstr("\"dims\" (10)"));
  EXPECT_THAT(error({{"zeta", "1"}}), HasSubstr("\"zeta\""));
  EXPECT_THAT(error({}, 7), HasSubstr("head_size (7) is not even"));
  EXPECT_THAT(error({}, 0), HasSubstr("head_size (0)"));
}

}  // namespace
}  // namespace heed
