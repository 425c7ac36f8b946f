#include "model/train/split.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "absl/strings/str_cat.h"

namespace heed {
namespace {

// Frozen values: a change here would let trained heads be measured on their own training texts.
TEST(SplitTest, IsFrozen) {
  std::string splits;
  for (int id = 1; id <= 40; ++id) {
    switch (SplitOf("movieReviewSnippets_GroundTruth", absl::StrCat(id))) {
      case Split::kTrain:
        splits += 't';
        break;
      case Split::kValidation:
        splits += 'v';
        break;
      case Split::kTest:
        splits += 'x';
        break;
    }
  }
  EXPECT_EQ(splits, "tttxtxttttttxtxxttttxtvttvttttttvtttxxvt");
}

TEST(SplitTest, IsEightyTenTen) {
  std::map<Split, int> counts;
  for (int id = 0; id < 10000; ++id) ++counts[SplitOf("a", absl::StrCat(id))];
  EXPECT_NEAR(counts[Split::kTrain], 8000, 150);
  EXPECT_NEAR(counts[Split::kValidation], 1000, 120);
  EXPECT_NEAR(counts[Split::kTest], 1000, 120);
}

TEST(SplitTest, DependsOnTheDataSet) {
  int same = 0;
  for (int id = 0; id < 1000; ++id) {
    same += SplitOf("a", absl::StrCat(id)) == SplitOf("b", absl::StrCat(id));
  }
  EXPECT_LT(same, 750);  // independent draws agree on 0.8² + 0.1² + 0.1² = 66 %
}

}  // namespace
}  // namespace heed
