#include "model/attention/recorder.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace heed {
namespace {

using testing::Each;
using testing::ElementsAre;

RaggedBatch TwoTexts() {
  RaggedBatch batch;
  batch.Append({{1, 2, 3}, {0, 0, 0}, {}, {}});
  batch.Append({{1, 2, 3}, {0, 0, 0}, {}, {}});
  return batch;
}

PatternTile Rows(int64_t begin, int64_t end) {
  PatternTile tile;
  tile.row_begin = begin;
  tile.row_end = end;
  tile.key_end = 3;
  return tile;
}

TEST(AttentionRecorderTest, KeepsWhatWasAskedForInItsOrder) {
  AttentionRecorder recorder({{1, 1, {1, 0}, 1, 3}, {1, 0, {}, 0, -1}}, TwoTexts(), 2);
  EXPECT_TRUE(recorder.Wants(1));
  EXPECT_FALSE(recorder.Wants(0));
  // [texts, heads, rows, keys], each weight its place: 1000·text + 100·head + 10·row + key.
  const at::Tensor place = at::arange(2).view({2, 1, 1, 1}) * 1000 +
                           at::arange(2).view({1, 2, 1, 1}) * 100 +
                           at::arange(3).view({1, 1, 3, 1}) * 10 + at::arange(3);
  const at::Tensor weights = place.to(at::kFloat);
  recorder.Record(1, 0, Rows(0, 2), weights.narrow(2, 0, 2));
  recorder.Record(1, 0, Rows(2, 3), weights.narrow(2, 2, 1));
  recorder.Record(0, 0, Rows(0, 3), weights + 9);
  const std::vector<AttentionMap> maps = recorder.Take();
  ASSERT_EQ(maps.size(), 2u);
  EXPECT_EQ(maps[0].head_count, 2);
  EXPECT_EQ(maps[0].row_count, 2);
  EXPECT_EQ(maps[0].key_count, 3);
  EXPECT_THAT(maps[0].weights,
              ElementsAre(1110, 1111, 1112, 1120, 1121, 1122, 1010, 1011, 1012, 1020, 1021, 1022));
  EXPECT_THAT(maps[1].weights, ElementsAre(0, 1, 2, 10, 11, 12, 20, 21, 22, 100, 101, 102, 110, 111,
                                           112, 120, 121, 122));
}

TEST(AttentionRecorderTest, KeysOutsideATileHaveNoWeight) {
  AttentionRecorder recorder({{0, 0, {}, 0, 1}, {0, 0, {}, 2, 3}}, TwoTexts(), 1);
  PatternTile tile = Rows(0, 1);
  tile.key_begin = 1;
  recorder.Record(0, 0, tile, at::tensor({0.25F, 0.75F}).view({1, 1, 1, 2}));
  tile = Rows(2, 3);
  tile.keys = {0, 2};
  recorder.Record(0, 0, tile, at::tensor({0.5F, 0.125F}).view({1, 1, 1, 2}));
  const std::vector<AttentionMap> maps = recorder.Take();
  EXPECT_THAT(maps[0].weights, ElementsAre(0, 0.25, 0.75));
  EXPECT_THAT(maps[1].weights, ElementsAre(0.5, 0, 0.125));
}

TEST(AttentionRecorderTest, TextsOfOtherTilesAreLeftAlone) {
  AttentionRecorder recorder({{0, 0, {}, 0, -1}}, TwoTexts(), 1);
  recorder.Record(0, 1, Rows(0, 3), at::ones({1, 1, 3, 3}));
  EXPECT_THAT(recorder.Take()[0].weights, Each(0));
}

}  // namespace
}  // namespace heed
