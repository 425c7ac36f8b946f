#include "client/render/text.h"

#include <gtest/gtest.h>

namespace heed::cli {
namespace {

TEST(TextTest, FindsTheFirstByteThatIsNotUtf8) {
  EXPECT_EQ(FindBadUtf8(""), std::nullopt);
  EXPECT_EQ(FindBadUtf8("añ中😀"), std::nullopt);
  EXPECT_EQ(FindBadUtf8(absl::string_view("a\0b", 3)), std::nullopt);
  EXPECT_EQ(FindBadUtf8("\xf4\x8f\xbf\xbf"), std::nullopt);  // U+10FFFF
  EXPECT_EQ(FindBadUtf8("ab\xff"), 2u);
  EXPECT_EQ(FindBadUtf8("\x80"), 0u);
  EXPECT_EQ(FindBadUtf8("a\xc3"), 1u);             // cut off
  EXPECT_EQ(FindBadUtf8("\xc0\x80"), 0u);          // overlong
  EXPECT_EQ(FindBadUtf8("\xe0\x80\x80"), 0u);      // overlong
  EXPECT_EQ(FindBadUtf8("\xf0\x80\x80\x80"), 0u);  // overlong
  EXPECT_EQ(FindBadUtf8("\xed\xa0\x80"), 0u);      // surrogate
  EXPECT_EQ(FindBadUtf8("\xf4\x90\x80\x80"), 0u);  // above U+10FFFF
  EXPECT_EQ(FindBadUtf8("x\xe4\xb8"
                        "a"),
            1u);
}

TEST(TextTest, EscapesWhatSteersATerminal) {
  EXPECT_EQ(Escape("plain \\ text"), "plain \\ text");
  EXPECT_EQ(Escape("a\nb\tc\rd"), "a\\nb\\tc\\rd");
  EXPECT_EQ(Escape("\x1b[31mred\x07\x7f"), "\\x1b[31mred\\x07\\x7f");
  EXPECT_EQ(Escape("\u009b2J"), "\\x9b2J");  // CSI of C1
  EXPECT_EQ(Escape("a\u202eb\u2066c\u2028"), "a\\u202eb\\u2066c\\u2028");
  EXPECT_EQ(Escape("\xff\xc3"), "\\xff\\xc3");
  EXPECT_EQ(Escape("é中😀"), "é中😀");
  EXPECT_EQ(Escape(absl::string_view("\0", 1)), "\\x00");
}

TEST(TextTest, CountsColumns) {
  EXPECT_EQ(DisplayWidth(""), 0u);
  EXPECT_EQ(DisplayWidth("abc"), 3u);
  EXPECT_EQ(DisplayWidth("é"), 1u);
  EXPECT_EQ(DisplayWidth("e\u0301"), 1u);  // e and a combining accent
  EXPECT_EQ(DisplayWidth("中文"), 4u);
  EXPECT_EQ(DisplayWidth("😀"), 2u);
  EXPECT_EQ(DisplayWidth("👍🏽"), 2u);                // with a skin tone
  EXPECT_EQ(DisplayWidth("👩\u200d👩\u200d👧"), 2u);  // a family, joined
  EXPECT_EQ(DisplayWidth("❤\ufe0f"), 2u);             // text heart shown as emoji
  EXPECT_EQ(DisplayWidth("…"), 1u);
}

TEST(TextTest, ElidesToTheColumns) {
  EXPECT_EQ(Elide("abcdef", 6), "abcdef");
  EXPECT_EQ(Elide("abcdef", 5), "abcd…");
  EXPECT_EQ(Elide("abcdef", 1), "…");
  EXPECT_EQ(Elide("abcdef", 0), "abcdef");
  EXPECT_EQ(Elide("", 3), "");
  // Two columns a character: one is left over.
  EXPECT_EQ(Elide("中文字符", 6), "中文…");
  EXPECT_EQ(Elide("中文字符", 8), "中文字符");
}

TEST(TextTest, NeverElidesWiderThanAsked) {
  for (const char* text :
       {"中a文b字c", "e\u0301e\u0301e\u0301e\u0301", "👩\u200d👧👩\u200d👧xx", "aaaa"}) {
    for (size_t columns = 1; columns < 12; ++columns) {
      EXPECT_LE(DisplayWidth(Elide(text, columns)), columns) << text << " " << columns;
      EXPECT_EQ(FindBadUtf8(Elide(text, columns)), std::nullopt);
    }
  }
}

TEST(TextTest, KeepsMarksWithTheirCharacter) {
  EXPECT_EQ(Elide("e\u0301e\u0301e\u0301", 2), "e\u0301…");
  EXPECT_EQ(Elide("👩\u200d👧abc", 3), "👩\u200d👧…");
}

TEST(TextTest, PadsByColumnsNotBytes) {
  EXPECT_EQ(PadRight("中", 4), "中  ");
  EXPECT_EQ(PadLeft("é", 3), "  é");
  EXPECT_EQ(PadRight("long", 2), "long");
}

}  // namespace
}  // namespace heed::cli
