#include "model/attention/layout.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace heed {
namespace {

using testing::ElementsAre;

TokenIds Text(int64_t length) {
  TokenIds text;
  text.ids.assign(length, 1);
  text.segments.assign(length, 0);
  return text;
}

RaggedBatch BatchOf(const std::vector<TokenIds>& texts) {
  RaggedBatch batch;
  for (const TokenIds& text : texts) batch.Append(text);
  return batch;
}

// Texts of each group.
std::vector<int64_t> Counts(const std::vector<TokenIds>& texts) {
  const RaggedBatch batch = BatchOf(texts);
  std::vector<int64_t> counts;
  for (const TextGroup& group : AttentionLayout(batch).groups) counts.push_back(group.text_count);
  return counts;
}

std::vector<int64_t> Values(const at::Tensor& x) {
  const at::Tensor plain = x.contiguous();
  return {plain.const_data_ptr<int64_t>(), plain.const_data_ptr<int64_t>() + plain.numel()};
}

TEST(AttentionLayoutTest, NeighboursThatAreAlikeFormOneGroup) {
  const RaggedBatch batch = BatchOf({Text(2), Text(2), Text(3), Text(2)});
  const AttentionLayout layout(batch);
  ASSERT_EQ(layout.groups.size(), 3u);
  EXPECT_EQ(layout.groups[0].text_count, 2);
  EXPECT_EQ(layout.groups[1].first_text, 2);
  EXPECT_EQ(layout.groups[1].first_token, 4);
  EXPECT_EQ(layout.groups[1].length, 3);
  EXPECT_EQ(layout.groups[2].first_token, 7);
  EXPECT_TRUE(layout.groups[0].contiguous);
  EXPECT_FALSE(layout.groups[0].key_mask.defined());
  EXPECT_THAT(Values(layout.tokens.positions), ElementsAre(0, 1, 0, 1, 0, 1, 2, 0, 1));
  EXPECT_THAT(Values(layout.tokens.lengths), ElementsAre(2, 2, 2, 2, 3, 3, 3, 2, 2));
}

TEST(AttentionLayoutTest, WhatDiffersIsComputedApart) {
  TokenIds moved = Text(2);
  moved.positions = {0, 2};
  TokenIds hidden = Text(2);
  hidden.key_mask = {1, 0};
  TokenIds seen = Text(2);
  seen.key_mask = {1, 1};
  TokenIds wide = Text(2);
  wide.context_length = 9;
  TokenIds global = Text(2);
  global.global_mask = {0, 1};
  EXPECT_THAT(Counts({Text(2), moved, moved, Text(2)}), ElementsAre(1, 2, 1));
  EXPECT_THAT(Counts({Text(2), hidden, hidden, Text(2)}), ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(Counts({Text(2), seen, Text(2)}), ElementsAre(3));
  EXPECT_THAT(Counts({Text(2), wide, wide, Text(2)}), ElementsAre(1, 2, 1));
  EXPECT_THAT(Counts({Text(2), global, global, Text(2)}), ElementsAre(1, 1, 1, 1));
}

TEST(AttentionLayoutTest, KnowsWhatIsHiddenAndGlobal) {
  TokenIds text = Text(3);
  text.key_mask = {1, 0, 1};
  text.global_mask = {1, 0, 1};
  text.segments = {0, 0, 1};
  const RaggedBatch batch = BatchOf({Text(2), text});
  const AttentionLayout layout(batch);
  const TextGroup& group = layout.groups[1];
  EXPECT_TRUE(group.key_mask.equal(at::tensor({1, 0, 1}).to(at::kBool)));
  EXPECT_TRUE(group.has_globals);
  EXPECT_THAT(group.globals, ElementsAre(0, 2));
  EXPECT_THAT(Values(group.segments), ElementsAre(0, 0, 1));
  EXPECT_FALSE(layout.groups[0].has_globals);
}

// Rules of length see the larger of the context length and the last position.
TEST(AttentionLayoutTest, RuleLengthIsTheLargerOne) {
  TokenIds far = Text(2);
  far.positions = {30, 4};
  TokenIds wide = Text(2);
  wide.context_length = 7;
  const RaggedBatch batch = BatchOf({far, wide});
  const AttentionLayout layout(batch);
  EXPECT_EQ(layout.groups[0].rule_length, 31);
  EXPECT_FALSE(layout.groups[0].contiguous);
  EXPECT_EQ(layout.groups[0].context_length, 2);
  EXPECT_EQ(layout.groups[1].rule_length, 7);
  EXPECT_THAT(Values(layout.tokens.lengths), ElementsAre(31, 31, 7, 7));
}

}  // namespace
}  // namespace heed
