#include "client/render/attention_matrix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace heed::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

// One layer, two heads, two rows (1, 2), columns (2, 0, 1) of three tokens; the first is special.
AttentionData Sample() {
  AttentionData data;
  for (int i = 0; i < 3; ++i) data.header.add_tokens()->set_special(i == 0);
  data.header.add_layers(3);
  data.header.add_heads(0);
  data.header.add_heads(1);
  for (const uint32_t token : {1, 2}) data.header.add_query_rows(token);
  for (const uint32_t token : {2, 0, 1}) data.header.add_key_columns(token);
  for (const int64_t dimension : {1, 2, 2, 3}) data.header.add_shape(dimension);
  data.weights = {0.5f, 0.25f, 0.25f, 0.0f, 1.0f, 0.0f,   // head 0
                  0.5f, 0.75f, 0.0f,  0.5f, 0.0f, 0.5f};  // head 1
  return data;
}

TEST(AttentionMatrixTest, MeanOverHeadsKeepsTheOrder) {
  const AttentionMatrix matrix = MeanOverHeads(Sample(), 0);
  EXPECT_THAT(matrix.rows, ElementsAre(1, 2));
  EXPECT_THAT(matrix.columns, ElementsAre(2, 0, 1));
  EXPECT_THAT(matrix.weights, ElementsAre(0.5f, 0.5f, 0.125f, 0.25f, 0.5f, 0.25f));
}

TEST(AttentionMatrixTest, TopKGoesToItsColumns) {
  AttentionData data = Sample();
  data.top_k = 1;
  data.header.set_shape(3, 1);
  data.weights = {0.5f, 1.0f, 0.75f, 0.5f};
  data.columns = {2, 0, 0, 1};
  EXPECT_THAT(MeanOverHeads(data, 0).weights, ElementsAre(0.25f, 0.375f, 0, 0, 0.5f, 0.25f));
}

TEST(AttentionMatrixTest, SummaryByHand) {
  AttentionData data = Sample();
  data.header.set_shape(1, 1);  // head 0 alone
  const LayerSummary summary = SummarizeLayer(data, 0);
  // Row 1: 0.5 one away, 0.25 one away, 0.25 on itself. Row 2: all of it two away.
  EXPECT_NEAR(summary.mean_distance, (0.75 + 2.0) / 2.0, 1e-6);
  EXPECT_NEAR(summary.entropy, (0.5 * std::log(2.0) + 0.5 * std::log(4.0)) / 2.0, 1e-6);
  EXPECT_NEAR(summary.special_share, (0.25 + 1.0) / 2.0, 1e-6);
}

TEST(AttentionMatrixTest, PairsLeaveSpecialTokensOut) {
  AttentionData data = Sample();
  const auto pairs = TopPairs(MeanOverHeads(data, 0), data.header, 3);
  ASSERT_THAT(pairs, SizeIs(3));
  EXPECT_EQ(pairs[0].from, 1u);
  EXPECT_EQ(pairs[0].to, 2u);
  EXPECT_EQ(pairs[0].weight, 0.5f);
  // Equal weights in the order of the text.
  EXPECT_EQ(pairs[1].to, 1u);
  EXPECT_EQ(pairs[2].to, 2u);
  for (auto& token : *data.header.mutable_tokens()) token.set_special(true);
  EXPECT_THAT(TopPairs(MeanOverHeads(data, 0), data.header, 100), SizeIs(6));
}

}  // namespace
}  // namespace heed::cli
