#include "server/layer_profile.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "server/probe_texts.h"

namespace heed {
namespace {

// A text of 14 tokens, the first and the last special.
constexpr int64_t kTokens = 14;
constexpr int64_t kPlaces = kTokens - 2;
constexpr int kOrders = 200;
constexpr double kSamplingError = 0.03;
constexpr double kHidden = -std::numeric_limits<double>::infinity();

std::vector<TokenDetail> Tokens() {
  std::vector<TokenDetail> tokens(kTokens);
  tokens.front().special = tokens.back().special = true;
  return tokens;
}

// One number for each ordered pair of text tokens. Every row has mean 0 besides its diagonal, and
// the whole has variance 1.
std::vector<double> RandomPairs(uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal;
  std::vector<double> values(kTokens * kTokens);
  double squares = 0;
  for (int64_t i = 1; i <= kPlaces; ++i) {
    double mean = 0;
    for (int64_t j = 1; j <= kPlaces; ++j) {
      if (i == j) continue;
      values[i * kTokens + j] = normal(engine);
      mean += values[i * kTokens + j] / (kPlaces - 1);
    }
    for (int64_t j = 1; j <= kPlaces; ++j) {
      if (i == j) continue;
      values[i * kTokens + j] -= mean;
      squares += values[i * kTokens + j] * values[i * kTokens + j];
    }
  }
  for (double& value : values) value /= std::sqrt(squares / (kPlaces * (kPlaces - 1)));
  return values;
}

// The score of query position p, where token a stands, and key position q, where token b does.
using Score = std::function<double(int64_t p, int64_t q, int64_t a, int64_t b)>;

// One variance a head, over random orders. Special tokens get scores that would drown the rest.
std::vector<ScoreVariance> Profile(const std::vector<Score>& heads, int order_count = kOrders,
                                   const std::vector<TokenDetail>& tokens = Tokens()) {
  ProbeRandom random(7);
  LayerProfile profile(static_cast<int64_t>(heads.size()), tokens);
  for (int i = 0; i < order_count; ++i) {
    const std::vector<int64_t> order = RandomOrder(tokens, random);
    AttentionMap map{static_cast<int64_t>(heads.size()), kTokens, kTokens, {}};
    for (const Score& head : heads) {
      for (int64_t p = 0; p < kTokens; ++p) {
        for (int64_t q = 0; q < kTokens; ++q) {
          const bool special = tokens[p].special || tokens[q].special;
          map.weights.push_back(special ? static_cast<float>(1e6 * ((p + q + i) % 3))
                                        : static_cast<float>(head(p, q, order[p], order[q])));
        }
      }
    }
    profile.Add(map, order);
  }
  return profile.Variances();
}

double PositionShare(const ScoreVariance& variance) { return variance.position / variance.total; }
double ContentShare(const ScoreVariance& variance) { return variance.content / variance.total; }

class LayerProfileTest : public testing::Test {
 protected:
  // a · position + b · content + c · what hangs on both.
  Score Sum(double a, double b, double c = 0) {
    return [this, a, b, c](int64_t p, int64_t q, int64_t x, int64_t y) {
      return a * positions_[p * kTokens + q] + b * contents_[x * kTokens + y] +
             (c == 0 ? 0 : c * normal_(engine_));
    };
  }

  const std::vector<double> positions_ = RandomPairs(1);
  const std::vector<double> contents_ = RandomPairs(2);
  std::mt19937_64 engine_{3};
  std::normal_distribution<double> normal_;
};

TEST_F(LayerProfileTest, PurePosition) {
  const ScoreVariance variance = Profile({Sum(3, 0)})[0];
  EXPECT_NEAR(PositionShare(variance), 1, 0.01);
  EXPECT_NEAR(ContentShare(variance), 0, 0.01);
  EXPECT_NEAR(variance.total, 9, 1e-4);
}

TEST_F(LayerProfileTest, PureContent) {
  const ScoreVariance variance = Profile({Sum(0, 0.5)})[0];
  EXPECT_NEAR(PositionShare(variance), 0, 0.01);
  EXPECT_NEAR(ContentShare(variance), 1, 0.01);
  EXPECT_NEAR(variance.total, 0.25, 1e-4);
}

// Var(aP + bC) = a² + b² with P and C of variance 1; each head is told from the others.
TEST_F(LayerProfileTest, SumsSplitBySquares) {
  const std::vector<std::pair<double, double>> factors = {{1, 1}, {3, 1}, {1, 2}, {0.2, 1}};
  std::vector<Score> heads;
  for (const auto& [a, b] : factors) heads.push_back(Sum(a, b));
  const std::vector<ScoreVariance> variances = Profile(heads);
  ASSERT_EQ(variances.size(), factors.size());
  for (size_t h = 0; h < factors.size(); ++h) {
    const auto [a, b] = factors[h];
    const double whole = a * a + b * b;
    EXPECT_NEAR(PositionShare(variances[h]), a * a / whole, kSamplingError) << a << " " << b;
    EXPECT_NEAR(ContentShare(variances[h]), b * b / whole, kSamplingError) << a << " " << b;
    EXPECT_NEAR(variances[h].total / whole, 1, kSamplingError) << a << " " << b;
  }
}

TEST_F(LayerProfileTest, NoiseBelongsToNeither) {
  const ScoreVariance variance = Profile({Sum(0, 0, 2)})[0];
  EXPECT_NEAR(PositionShare(variance), 0, kSamplingError);
  EXPECT_NEAR(ContentShare(variance), 0, kSamplingError);
  EXPECT_GT(variance.total, 3);
}

TEST_F(LayerProfileTest, NoiseTakesItsPartOfTheWhole) {
  const ScoreVariance variance = Profile({Sum(1, 1, 1)})[0];
  EXPECT_NEAR(PositionShare(variance), 1 / 3.0, kSamplingError);
  EXPECT_NEAR(ContentShare(variance), 1 / 3.0, kSamplingError);
}

// Product of a position's and a token's number: all of it hangs on both.
TEST_F(LayerProfileTest, InteractionBelongsToNeither) {
  const ScoreVariance variance = Profile({[this](int64_t p, int64_t q, int64_t a, int64_t b) {
    return positions_[p * kTokens + q] * contents_[a * kTokens + b];
  }})[0];
  EXPECT_NEAR(PositionShare(variance), 0, kSamplingError);
  EXPECT_NEAR(ContentShare(variance), 0, kSamplingError);
  EXPECT_GT(variance.total, 0.5);
}

// Chance alone must not look like an explanation, even over the fewest orders a request may ask
// for.
TEST_F(LayerProfileTest, FewOrdersAreNotFlattered) {
  const ScoreVariance variance = Profile({Sum(0, 0, 1)}, 3)[0];
  EXPECT_LT(PositionShare(variance), 0.2);
  EXPECT_LT(ContentShare(variance), 0.2);
  EXPECT_NEAR(PositionShare(Profile({Sum(1, 0)}, 2)[0]), 1, 0.02);
}

// What a row has in common is not seen by the softmax.
TEST_F(LayerProfileTest, ARowsMeanDoesNotCount) {
  const ScoreVariance variance = Profile({[this](int64_t p, int64_t q, int64_t a, int64_t b) {
    return Sum(1, 0)(p, q, a, b) + 20.0 * static_cast<double>(p) - 50.0 * static_cast<double>(a);
  }})[0];
  EXPECT_NEAR(variance.total, 1, 1e-3);
  EXPECT_NEAR(PositionShare(variance), 1, 0.01);
  EXPECT_NEAR(ContentShare(variance), 0, 0.01);
}

// No order tells the positions of a segment from its tokens: what hangs on segments alone is none.
TEST_F(LayerProfileTest, SegmentsCountForNothing) {
  std::vector<TokenDetail> tokens = Tokens();
  for (size_t t = 6; t < tokens.size(); ++t) tokens[t].segment = 1;
  const auto segments = [&](int64_t p, int64_t q, int64_t, int64_t) {
    return 10.0 * tokens[p].segment + 30.0 * tokens[q].segment;
  };
  const std::vector<ScoreVariance> variances =
      Profile({segments, [&](int64_t p, int64_t q, int64_t a,
                             int64_t b) { return segments(p, q, a, b) + Sum(2, 1)(p, q, a, b); }},
              kOrders, tokens);
  EXPECT_EQ(variances[0].total, 0);
  EXPECT_LE(PositionShare(variances[1]) + ContentShare(variances[1]), 1 + kSamplingError);
  EXPECT_NEAR(PositionShare(variances[1]), 0.8, 0.1);
  EXPECT_NEAR(ContentShare(variances[1]), 0.2, 0.1);
}

// A window of two to either side, and one row that sees nothing.
TEST_F(LayerProfileTest, HiddenPairsAreLeftOut) {
  const auto windowed = [](Score score) {
    return [score = std::move(score)](int64_t p, int64_t q, int64_t a, int64_t b) {
      return std::abs(p - q) > 2 || p == 5 ? kHidden : score(p, q, a, b);
    };
  };
  const std::vector<ScoreVariance> variances = Profile({windowed(Sum(1, 0)), windowed(Sum(0, 1))});
  EXPECT_GT(PositionShare(variances[0]), 0.97);
  EXPECT_LT(ContentShare(variances[0]), kSamplingError);
  // The mean of what a row sees now hangs on what the order brings into the window.
  EXPECT_LT(PositionShare(variances[1]), kSamplingError);
  EXPECT_GT(ContentShare(variances[1]), 0.5);
  EXPECT_TRUE(std::isfinite(variances[0].total));
}

TEST_F(LayerProfileTest, ConstantHeadsVaryByNothing) {
  const auto constant = [](int64_t, int64_t, int64_t, int64_t) { return 12345.678; };
  const auto hidden = [](int64_t, int64_t, int64_t, int64_t) { return kHidden; };
  for (const Score& head : std::vector<Score>{constant, hidden}) {
    const ScoreVariance variance = Profile({head}, 3)[0];
    EXPECT_EQ(variance.total, 0);
    EXPECT_EQ(variance.position, 0);
    EXPECT_EQ(variance.content, 0);
  }
}

TEST_F(LayerProfileTest, NothingAddedIsNothing) {
  const std::vector<ScoreVariance> variances = Profile({Sum(1, 1), Sum(1, 0)}, 0);
  ASSERT_EQ(variances.size(), 2U);
  EXPECT_EQ(variances[1].total, 0);
  EXPECT_EQ(variances[1].position, 0);
}

// Two sums of 8 bytes a pair and head, and two counts of 8 bytes a pair.
TEST_F(LayerProfileTest, BytesAreThoseOfItsTables) {
  EXPECT_EQ(LayerProfile::Bytes(3, 10), (3 + 1) * 16 * 100);
}

}  // namespace
}  // namespace heed
