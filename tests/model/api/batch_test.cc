#include "model/api/batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace heed {
namespace {

using testing::ElementsAre;

TEST(RaggedBatchTest, StandsEndToEnd) {
  RaggedBatch batch;
  batch.Append({{5, 6}, {0, 1}, {}, {}});
  batch.Append({{7}, {0}, {9}, {}});
  EXPECT_EQ(batch.text_count(), 2);
  EXPECT_EQ(batch.token_count(), 3);
  EXPECT_THAT(batch.ids, ElementsAre(5, 6, 7));
  EXPECT_THAT(batch.segments, ElementsAre(0, 1, 0));
  EXPECT_THAT(batch.positions, ElementsAre(0, 1, 9));
  EXPECT_THAT(batch.cu_seqlens, ElementsAre(0, 2, 3));
  EXPECT_TRUE(batch.key_mask.empty());
}

TEST(RaggedBatchTest, AMaskOfOneTextLeavesTheOthersSeen) {
  RaggedBatch batch;
  batch.Append({{1, 2}, {0, 0}, {}, {}});
  batch.Append({{3, 4}, {0, 0}, {}, {0, 1}});
  batch.Append({{5}, {0}, {}, {}});
  EXPECT_THAT(batch.key_mask, ElementsAre(1, 1, 0, 1, 1));
}

}  // namespace
}  // namespace heed
