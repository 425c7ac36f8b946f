#include "client/commands/selector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace heed::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

TEST(SelectorTest, NumbersAndRanges) {
  const auto selector = ParseSelector("0,2,-1,:4,-3:-1,1:-1");
  ASSERT_TRUE(selector.ok()) << selector.status();
  EXPECT_THAT(selector->indices(), ElementsAre(0, 2, -1));
  ASSERT_THAT(selector->ranges(), SizeIs(3));
  EXPECT_EQ(selector->ranges(0).start(), 0);
  EXPECT_EQ(selector->ranges(0).end(), 4);
  EXPECT_EQ(selector->ranges(1).start(), -3);
  EXPECT_EQ(selector->ranges(1).end(), -1);
  EXPECT_EQ(selector->ranges(2).end(), -1);
}

TEST(SelectorTest, KeepsTheOrderWritten) {
  const auto selector = ParseSelector("4:6,0,-3:-1,1,2:3");
  ASSERT_TRUE(selector.ok()) << selector.status();
  EXPECT_THAT(selector->indices(), ElementsAre(4, 5, 0, -3, -2, 1));
  EXPECT_THAT(selector->ranges(), SizeIs(1));
}

TEST(SelectorTest, RefusesWhatIsNoList) {
  for (const char* text : {"", "a", "1,", ",1", "1:2:3", "2:", "3:3", "4:2", "-1:-3", "1.5", "1 2",
                           "99999999999", "1:-1,0", "0:2000000000,5"}) {
    EXPECT_EQ(ParseSelector(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST(SelectorTest, Positions) {
  EXPECT_TRUE(ParsePositions("off")->disabled());
  EXPECT_EQ(ParsePositions("+512")->offset(), 512);
  EXPECT_THAT(ParsePositions("0,3,7:9")->positions().positions(), ElementsAre(0, 3, 7, 8));
  for (const char* text : {"", "on", "+", "+-3", "-1", "1:-1", "0:2000000000", "1,x"}) {
    EXPECT_EQ(ParsePositions(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

}  // namespace
}  // namespace heed::cli
