#include "model/api/utf8.h"

#include <gtest/gtest.h>

namespace heed {
namespace {

TEST(Utf8Test, AcceptsWellFormedText) {
  EXPECT_EQ(FindInvalidUtf8(""), std::nullopt);
  EXPECT_EQ(FindInvalidUtf8(absl::string_view("a\0b", 3)), std::nullopt);
  EXPECT_EQ(FindInvalidUtf8("\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf"
                            "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"),
            std::nullopt);
}

TEST(Utf8Test, FindsTheFirstByteThatIsNot) {
  EXPECT_EQ(FindInvalidUtf8("\xf0\x80"), 0);          // overlong, cut short
  EXPECT_EQ(FindInvalidUtf8("ab\x80"), 2);            // continuation without a lead
  EXPECT_EQ(FindInvalidUtf8("\xc0\xaf"), 0);          // overlong '/'
  EXPECT_EQ(FindInvalidUtf8("\xe0\x9f\xbf"), 0);      // overlong
  EXPECT_EQ(FindInvalidUtf8("x\xed\xa0\x80"), 1);     // surrogate
  EXPECT_EQ(FindInvalidUtf8("\xf0\x8f\xbf\xbf"), 0);  // overlong
  EXPECT_EQ(FindInvalidUtf8("\xf4\x90\x80\x80"), 0);  // above U+10FFFF
  EXPECT_EQ(FindInvalidUtf8("\xf5\x80\x80\x80"), 0);  // no such lead
  EXPECT_EQ(FindInvalidUtf8("\xc3\xa9\xc3"), 2);      // cut short
  EXPECT_EQ(FindInvalidUtf8("\xe2\x82z"), 0);         // broken in the middle
}

}  // namespace
}  // namespace heed
