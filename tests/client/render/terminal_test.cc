#include "client/render/terminal.h"

#include <gtest/gtest.h>

#include <cmath>

namespace heed::cli {
namespace {

TEST(TerminalTest, PaintsOnlyWithColor) {
  EXPECT_EQ(Paint("x", Color::kGreen, {.color = false}), "x");
  EXPECT_EQ(Paint("x", Color::kGreen, {.color = true}), "\x1b[32mx\x1b[0m");
  EXPECT_EQ(Paint("", Color::kGreen, {.color = true}), "");
}

TEST(TerminalTest, DrawsBarsInEighths) {
  EXPECT_EQ(Bar(0.0, 4), "    ");
  EXPECT_EQ(Bar(1.0, 4), "████");
  EXPECT_EQ(Bar(0.5, 4), "██  ");
  EXPECT_EQ(Bar(1.0 / 32, 4), "▏   ");
  EXPECT_EQ(Bar(31.0 / 32, 4), "███▉");
}

TEST(TerminalTest, DrawsNoBarForWhatIsNoShare) {
  for (const double value : {-0.1, 1.1, std::nan(""), HUGE_VAL}) EXPECT_EQ(Bar(value, 3), "   ");
}

TEST(TerminalTest, FormatsBytesWithThreeFigures) {
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(999), "999 B");
  EXPECT_EQ(FormatBytes(1000), "1.00 kB");
  EXPECT_EQ(FormatBytes(90'854'408), "90.9 MB");
  EXPECT_EQ(FormatBytes(999'999), "1.00 MB");
  EXPECT_EQ(FormatBytes(123'456'789'000), "123 GB");
}

TEST(TerminalTest, FormatsCountsInThousands) {
  EXPECT_EQ(FormatCount(0), "0");
  EXPECT_EQ(FormatCount(999), "999");
  EXPECT_EQ(FormatCount(1000), "1,000");
  EXPECT_EQ(FormatCount(22'713'602), "22,713,602");
}

TEST(TerminalTest, AlignsTheTable) {
  EXPECT_EQ(RenderTable({{"NAME"}, {"N", true}, {"LAST"}},
                        {{"a", "1", "x"}, {"中文字", "1,000", ""}}, Style()),
            "NAME        N  LAST\n"
            "a           1  x\n"
            "中文字  1,000\n");
}

}  // namespace
}  // namespace heed::cli
