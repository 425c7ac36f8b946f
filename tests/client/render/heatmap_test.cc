#include "client/render/heatmap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace heed::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(HeatmapTest, CellsGetBrighter) {
  EXPECT_EQ(Cell(0.0, {}), "  ");
  EXPECT_EQ(Cell(0.25, {}), "░░");
  EXPECT_EQ(Cell(0.5, {}), "▒▒");
  EXPECT_EQ(Cell(0.75, {}), "▓▓");
  EXPECT_EQ(Cell(1.0, {}), "██");
  // What is out of range, or no number, does no harm.
  EXPECT_EQ(Cell(7.0, {}), "██");
  EXPECT_EQ(Cell(-1.0, {}), "  ");
  EXPECT_EQ(Cell(std::nan(""), {}), "  ");
}

TEST(HeatmapTest, ShadesFollowThePalette) {
  Style style = {.color = true, .palette = Palette::kTrueColor};
  EXPECT_EQ(Shade("a", 0.0, style), "\x1b[38;5;231;48;2;68;1;84ma\x1b[0m");
  EXPECT_EQ(Shade("a", 0.5, style), "\x1b[38;5;231;48;2;33;145;140ma\x1b[0m");
  style.palette = Palette::kGrey256;
  EXPECT_EQ(Shade("a", 0.0, style), "\x1b[38;5;231;48;5;232ma\x1b[0m");
  style.palette = Palette::kShadeCharacters;
  EXPECT_EQ(Shade("a", 1.0, style), "a");
  style = {.color = false, .palette = Palette::kTrueColor};
  EXPECT_EQ(Shade("a", 1.0, style), "a");
}

TEST(HeatmapTest, KeepsTheMostImportantThatFit) {
  const std::vector<float> importance = {5, 1, 4, 2, 3, 0};
  EXPECT_THAT(FitColumns(importance, 0), SizeIs(6));
  EXPECT_THAT(FitColumns(importance, 12), SizeIs(6));
  // Two a column and one a gap.
  EXPECT_THAT(FitColumns(importance, 10), ElementsAre(0, 2, 3, 4));
  EXPECT_THAT(FitColumns(importance, 9), ElementsAre(0, 2, 4));
  EXPECT_THAT(FitColumns(importance, 8), ElementsAre(0, 2));
  EXPECT_THAT(FitColumns(importance, 1), ElementsAre(0));
  EXPECT_THAT(FitColumns({}, 10), SizeIs(0));
}

TEST(HeatmapTest, MarksWhatIsLeftOut) {
  Heatmap map;
  map.row_labels = {"a", "b", "c"};
  map.column_numbers = {9, 10, 11};
  map.values = {1, 0, 0, 0, 1, 0, 0, 0, 0.5f};
  map.rows = {0, 2};
  map.columns = {0, 2};
  EXPECT_EQ(RenderHeatmap(map, {}),
            "      1\n"
            "   9… 1\n"
            "a ██…\n"
            "…\n"
            "c   …▒▒\n"
            "  0     ░░▒▒▒▒▓▓████ 1\n");
}

TEST(HeatmapTest, LargerValuesShareTheBrightestShade) {
  Heatmap map;
  map.row_labels = {"a"};
  map.column_numbers = {0, 1, 2};
  map.values = {-1, 0, 9};
  map.rows = {0};
  map.columns = {0, 1, 2};
  map.lowest = -1;
  map.highest = 1;
  EXPECT_THAT(RenderHeatmap(map, {}), HasSubstr("a   ▒▒██\n"));
  EXPECT_THAT(RenderHeatmap(map, {}), HasSubstr(" 1 or more\n"));
}

}  // namespace
}  // namespace heed::cli
