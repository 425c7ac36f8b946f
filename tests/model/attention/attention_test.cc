#include "model/attention/attention.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace heed {
namespace {

constexpr int64_t kHeads = 4;
constexpr int64_t kHeadSize = 8;
constexpr double kScale = 0.4;

TokenIds Text(int64_t length, std::vector<uint8_t> key_mask = {}) {
  TokenIds text;
  text.ids.assign(length, 1);
  text.segments.assign(length, 0);
  text.key_mask = std::move(key_mask);
  return text;
}

RaggedBatch BatchOf(const std::vector<TokenIds>& texts) {
  RaggedBatch batch;
  for (const TokenIds& text : texts) batch.Append(text);
  return batch;
}

// x: [T, H, D].
std::vector<std::vector<std::vector<double>>> Values(const at::Tensor& x) {
  const at::Tensor plain = x.to(at::kDouble).contiguous();
  const auto from = plain.accessor<double, 3>();
  std::vector<std::vector<std::vector<double>>> values(x.size(0));
  for (int64_t t = 0; t < x.size(0); ++t) {
    for (int64_t h = 0; h < x.size(1); ++h) {
      values[t].emplace_back();
      for (int64_t d = 0; d < x.size(2); ++d) values[t][h].push_back(from[t][h][d]);
    }
  }
  return values;
}

struct Naive {
  at::Tensor context;  // [T, H, D] float64
  // One a text: [heads][queries][keys], end to end.
  std::vector<std::vector<double>> weights;
};

// Equation 1 of the paper, one query and key at a time, in float64.
Naive NaiveAttend(const QueryKeyValue& x, const RaggedBatch& batch) {
  const auto query = Values(x.query);
  const auto key = Values(x.key);
  const auto value = Values(x.value);
  const int64_t group = x.query.size(1) / x.key.size(1);
  Naive result{at::zeros(x.query.sizes(), at::kDouble), {}};
  auto context = result.context.accessor<double, 3>();
  for (size_t b = 0; b < batch.text_count(); ++b) {
    result.weights.emplace_back();
    for (int64_t h = 0; h < x.query.size(1); ++h) {
      for (int64_t i = batch.cu_seqlens[b]; i < batch.cu_seqlens[b + 1]; ++i) {
        std::vector<double> row;
        double sum = 0;
        for (int64_t j = batch.cu_seqlens[b]; j < batch.cu_seqlens[b + 1]; ++j) {
          const bool seen = batch.key_mask.empty() || batch.key_mask[j] != 0;
          double score = 0;
          for (int64_t d = 0; d < kHeadSize; ++d) score += query[i][h][d] * key[j][h / group][d];
          row.push_back(seen ? std::exp(kScale * score) : 0);
          sum += row.back();
        }
        for (size_t j = 0; j < row.size(); ++j) {
          const double weight = sum > 0 ? row[j] / sum : 0;
          result.weights[b].push_back(weight);
          for (int64_t d = 0; d < kHeadSize; ++d) {
            context[i][h][d] += weight * value[batch.cu_seqlens[b] + j][h / group][d];
          }
        }
      }
    }
  }
  return result;
}

double LargestDifference(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor difference = (a.to(at::kDouble) - b.to(at::kDouble)).abs();
  return difference.isnan().any().item<bool>() ? 1e300 : difference.max().item<double>();
}

class AttentionTest : public testing::Test {
 protected:
  AttentionTest() { at::manual_seed(1); }

  static QueryKeyValue Random(int64_t tokens, int64_t key_heads = kHeads) {
    return {at::randn({tokens, kHeads, kHeadSize}), at::randn({tokens, key_heads, kHeadSize}),
            at::randn({tokens, key_heads, kHeadSize})};
  }

  static AttentionSettings Settings(const std::string& pattern = "dense",
                                    const PatternOptions& options = {}) {
    AttentionSettings settings;
    settings.scale = kScale;
    settings.pattern = *MakeAttentionPattern(pattern, options);
    return settings;
  }

  static at::Tensor Run(const QueryKeyValue& x, const RaggedBatch& batch,
                        AttentionRecorder* recorder = nullptr) {
    return Attend(x, nullptr, Settings(), AttentionLayout(batch), recorder);
  }

  // Context, weights, and that asking for the weights changes no bit.
  static void ExpectNaive(const std::vector<TokenIds>& texts, int64_t key_heads = kHeads) {
    const RaggedBatch batch = BatchOf(texts);
    const QueryKeyValue x = Random(static_cast<int64_t>(batch.token_count()), key_heads);
    std::vector<AttentionRequest> requests;
    for (size_t b = 0; b < texts.size(); ++b) {
      requests.push_back({0, static_cast<int64_t>(b), {}, 0, -1});
    }
    AttentionRecorder recorder(requests, batch, kHeads);
    const at::Tensor context = Run(x, batch, &recorder);
    EXPECT_TRUE(context.equal(Run(x, batch)));
    const Naive naive = NaiveAttend(x, batch);
    EXPECT_LT(LargestDifference(context, naive.context), 2e-6);
    const std::vector<AttentionMap> maps = recorder.Take();
    ASSERT_EQ(maps.size(), texts.size());
    for (size_t b = 0; b < texts.size(); ++b) {
      ASSERT_EQ(maps[b].weights.size(), naive.weights[b].size());
      for (size_t i = 0; i < maps[b].weights.size(); ++i) {
        ASSERT_NEAR(maps[b].weights[i], naive.weights[b][i], 1e-6) << "text " << b << ", " << i;
      }
    }
  }
};

TEST_F(AttentionTest, MatchesTheFormulaInFloat64) { ExpectNaive({Text(5), Text(1), Text(7)}); }

TEST_F(AttentionTest, NeighboursOfOneLengthShareNothing) {
  ExpectNaive({Text(4), Text(4), Text(4), Text(1)});
}

TEST_F(AttentionTest, HiddenKeysGetNoWeight) {
  ExpectNaive({Text(5, {1, 0, 1, 0, 1}), Text(4, {1, 1, 1, 0})});
}

TEST_F(AttentionTest, MasksOfNeighboursOfOneLengthStayApart) {
  ExpectNaive({Text(4), Text(4, {1, 0, 1, 1}), Text(4, {0, 1, 1, 1}), Text(4)});
}

TEST_F(AttentionTest, TextWithEveryKeyHiddenGetsZeros) {
  ExpectNaive({Text(3, {0, 0, 0}), Text(4, {1, 1, 0, 1})});
}

// One key in the window of each query: the hidden one leaves its query with nothing to see.
TEST_F(AttentionTest, QueryWithEveryKeyHiddenGetsZerosAndOthersDoNot) {
  const RaggedBatch batch = BatchOf({Text(4, {1, 0, 1, 1})});
  const QueryKeyValue x = Random(4);
  const at::Tensor context = Attend(x, nullptr, Settings("sliding_window", {{"window", "0"}}),
                                    AttentionLayout(batch), nullptr);
  EXPECT_TRUE(context[1].equal(at::zeros({kHeads, kHeadSize})));
  for (const int64_t i : {0, 2, 3}) EXPECT_LT(LargestDifference(context[i], x.value[i]), 1e-7) << i;
}

// Ainslie et al., 2023, arXiv:2305.13245, figure 2: neighbouring query heads share a key head.
TEST_F(AttentionTest, QueryHeadsShareKeyHeads) {
  ExpectNaive({Text(5), Text(6, {1, 1, 0, 1, 1, 1})}, 2);
  ExpectNaive({Text(5), Text(5)}, 1);
}

TEST_F(AttentionTest, TextDoesNotSeeItsNeighbours) {
  const std::vector<TokenIds> texts = {Text(6), Text(6), Text(4), Text(6), Text(1)};
  const RaggedBatch batch = BatchOf(texts);
  const QueryKeyValue x = Random(static_cast<int64_t>(batch.token_count()));
  const at::Tensor together = Run(x, batch);
  for (size_t b = 0; b < texts.size(); ++b) {
    const int64_t begin = batch.cu_seqlens[b];
    const int64_t length = batch.length(b);
    const QueryKeyValue own = {x.query.narrow(0, begin, length), x.key.narrow(0, begin, length),
                               x.value.narrow(0, begin, length)};
    const at::Tensor before = together.narrow(0, begin, length);
    EXPECT_TRUE(before.equal(Run(own, BatchOf({texts[b]})))) << "text " << b << " alone";
    QueryKeyValue spoiled = {at::full_like(x.query, 1e4), at::full_like(x.key, 1e4),
                             at::full_like(x.value, 1e4)};
    spoiled.query.narrow(0, begin, length).copy_(own.query);
    spoiled.key.narrow(0, begin, length).copy_(own.key);
    spoiled.value.narrow(0, begin, length).copy_(own.value);
    EXPECT_TRUE(before.equal(Run(spoiled, batch).narrow(0, begin, length))) << "text " << b;
  }
}

TEST_F(AttentionTest, LargeScoresStayFinite) {
  const QueryKeyValue x = {at::randn({8, kHeads, kHeadSize}) * 1e3,
                           at::randn({8, kHeads, kHeadSize}) * 1e3,
                           at::randn({8, kHeads, kHeadSize}) * 1e3};
  EXPECT_TRUE(Run(x, BatchOf({Text(8)})).isfinite().all().item<bool>());
}

// Long enough for several tiles; the rows asked for lie on both sides of a boundary.
TEST_F(AttentionTest, LongTextIsTheSameInPieces) {
  constexpr int64_t kLength = 1400;
  const RaggedBatch batch = BatchOf({Text(3), Text(kLength)});
  const QueryKeyValue x = Random(kLength + 3);
  AttentionRecorder recorder({{0, 1, {2}, 600, 900}}, batch, kHeads);
  const at::Tensor context = Run(x, batch, &recorder).narrow(0, 3, kLength);
  EXPECT_TRUE(context.equal(Run(x, batch).narrow(0, 3, kLength)));
  const auto head = [](const at::Tensor& all) {
    return all.narrow(0, 3, kLength).select(1, 2).to(at::kDouble);
  };
  const at::Tensor weights =
      at::softmax(head(x.query).matmul(head(x.key).t()) * kScale, 1);  // [n, n]
  EXPECT_LT(LargestDifference(context.select(1, 2), weights.matmul(head(x.value))), 2e-6);
  const std::vector<AttentionMap> maps = recorder.Take();
  const at::Tensor map = at::tensor(maps[0].weights).view({300, kLength});
  EXPECT_LT(LargestDifference(map, weights.narrow(0, 600, 300)), 1e-6);
}

// Longformer (Beltagy et al., 2020, arXiv:2004.05150, section 3.1): a global query has projections
// of its own for itself and for all that it attends to; others see a global key by theirs.
TEST_F(AttentionTest, GlobalQueriesUseProjectionsOfTheirOwn) {
  const RaggedBatch batch = BatchOf({Text(9)});
  const QueryKeyValue local = Random(9);
  const QueryKeyValue global = Random(9);
  const AttentionSettings settings =
      Settings("longformer", {{"window", "8"}, {"global_tokens", "0"}});
  const at::Tensor context = Attend(local, &global, settings, AttentionLayout(batch), nullptr);
  EXPECT_LT(LargestDifference(context[0], NaiveAttend(global, batch).context[0]), 2e-6);
  EXPECT_LT(
      LargestDifference(context.narrow(0, 1, 8), NaiveAttend(local, batch).context.narrow(0, 1, 8)),
      2e-6);
}

}  // namespace
}  // namespace heed
