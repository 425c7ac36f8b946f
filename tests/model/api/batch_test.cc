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
  EXPECT_TRUE(batch.global_mask.empty());
  EXPECT_TRUE(batch.has_globals.empty());
  EXPECT_TRUE(batch.context_lengths.empty());
  EXPECT_EQ(batch.context_length(0), 2);
}

TEST(RaggedBatchTest, AMaskOfOneTextLeavesTheOthersSeen) {
  RaggedBatch batch;
  batch.Append({{1, 2}, {0, 0}, {}, {}});
  batch.Append({{3, 4}, {0, 0}, {}, {0, 1}});
  batch.Append({{5}, {0}, {}, {}});
  EXPECT_THAT(batch.key_mask, ElementsAre(1, 1, 0, 1, 1));
}

TEST(RaggedBatchTest, GlobalTokensOfOneTextLeaveTheOthersToTheModel) {
  RaggedBatch batch;
  batch.Append({{1, 2}, {0, 0}, {}, {}});
  batch.Append({{3, 4}, {0, 0}, {}, {}, {0, 1}});
  batch.Append({{5}, {0}, {}, {}});
  EXPECT_THAT(batch.global_mask, ElementsAre(0, 0, 0, 1, 0));
  EXPECT_THAT(batch.has_globals, ElementsAre(0, 1, 0));
}

TEST(RaggedBatchTest, AContextLengthOfOneTextLeavesTheOthersTheirOwn) {
  RaggedBatch batch;
  batch.Append({{1, 2}, {0, 0}, {}, {}});
  batch.Append({{3, 4}, {0, 0}, {}, {}, {}, 9});
  batch.Append({{5}, {0}, {}, {}});
  EXPECT_THAT(batch.context_lengths, ElementsAre(2, 9, 1));
  EXPECT_EQ(batch.context_length(1), 9);
  EXPECT_EQ(batch.length(1), 2);
}

}  // namespace
}  // namespace heed
