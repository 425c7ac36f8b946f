#include "client/render/png.h"

#include <cairo.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>

#include "client/render/color_scale.h"
#include "tests/client/page/synthetic_attention.h"

namespace heed::cli {
namespace {

using ::testing::HasSubstr;

// A PNG file, read back.
class Picture {
 public:
  explicit Picture(const std::string& path)
      : surface_(cairo_image_surface_create_from_png(path.c_str()), &cairo_surface_destroy) {
    EXPECT_EQ(cairo_surface_status(surface_.get()), CAIRO_STATUS_SUCCESS) << path;
  }
  int width() const { return cairo_image_surface_get_width(surface_.get()); }
  int height() const { return cairo_image_surface_get_height(surface_.get()); }
  Rgb at(int x, int y) const {
    const unsigned char* const line = cairo_image_surface_get_data(surface_.get()) +
                                      y * cairo_image_surface_get_stride(surface_.get());
    const uint32_t pixel = reinterpret_cast<const uint32_t*>(line)[x];
    return {static_cast<uint8_t>(pixel >> 16), static_cast<uint8_t>(pixel >> 8),
            static_cast<uint8_t>(pixel)};
  }
  // Pixels of exactly that colour.
  int Count(Rgb color) const { return CountIf(0, 0, width(), height(), color); }
  int CountIf(int x0, int y0, int x1, int y1, Rgb color) const {
    int count = 0;
    for (int y = y0; y < y1; ++y) {
      for (int x = x0; x < x1; ++x) count += at(x, y) == color ? 1 : 0;
    }
    return count;
  }
  // Pixels that are not white.
  int Ink(int x0, int y0, int x1, int y1) const {
    return (x1 - x0) * (y1 - y0) - CountIf(x0, y0, x1, y1, {0xff, 0xff, 0xff});
  }

 private:
  std::unique_ptr<cairo_surface_t, decltype(&cairo_surface_destroy)> surface_;
};

class PngTest : public ::testing::Test {
 protected:
  ~PngTest() override { std::remove(path_.c_str()); }
  const std::string path_ = ::testing::TempDir() + "png_test_" +
                            ::testing::UnitTest::GetInstance()->current_test_info()->name() +
                            ".png";
};

// Cells of 32 x 32 pixels: the 2 x 2 matrix has each colour on 1,024 pixels, besides the few of the
// colour bar, which is 16 wide and has two pixels or fewer a colour.
TEST_F(PngTest, PaintsEachCellInTheColourOfItsValue) {
  const PngMatrix matrix = {.title = "t",
                            .row_labels = {"a", "b"},
                            .column_labels = {"c", "d"},
                            .values = {0.0f, 0.25f, std::nanf(""), 1.0f}};
  ASSERT_TRUE(WriteMatrixPng(path_, matrix).ok());
  const Picture picture(path_);
  for (const double value : {0.0, 0.25, 1.0}) {
    EXPECT_NEAR(picture.Count(ColorOf(value)), 1024, 80) << value;
  }
  // Smoothed letters hold a few greys.
  EXPECT_NEAR(picture.Count(kNoValue), 1024, 30);
}

TEST_F(PngTest, DrawsTitleLabelsAndColourBarNumbers) {
  PngMatrix matrix = {
      .title = "", .row_labels = {""}, .column_labels = {""}, .values = {1.0f}, .min = 0.0};
  ASSERT_TRUE(WriteMatrixPng(path_, matrix).ok());
  const Picture bare(path_);
  EXPECT_EQ(bare.Ink(0, 0, bare.width(), 30), 0);
  matrix.title = "A title";
  ASSERT_TRUE(WriteMatrixPng(path_, matrix).ok());
  EXPECT_GT(Picture(path_).Ink(0, 0, bare.width(), 30), 100);
  // Scripts from right to left, without spaces, combining, and what is no text at all.
  for (const char* const label : {"token", "שלום", "مرحبا", "映画", "\xff\xfe", "\x1b[31m"}) {
    matrix.row_labels = {label};
    ASSERT_TRUE(WriteMatrixPng(path_, matrix).ok()) << label;
    const Picture picture(path_);
    EXPECT_GT(picture.Ink(0, 38, 12 + 8, 38 + 32), 10) << label;
  }
}

TEST_F(PngTest, ThinsLabelsAndBoundsPixels) {
  const size_t n = 600;
  PngMatrix matrix = {.title = "many",
                      .row_labels = std::vector<std::string>(n, std::string(5000, 'x')),
                      .column_labels = std::vector<std::string>(n, "y"),
                      .values = std::vector<float>(n * n, 0.5f)};
  ASSERT_TRUE(WriteMatrixPng(path_, matrix).ok());
  const Picture picture(path_);
  EXPECT_GT(picture.height(), 600);
  EXPECT_LT(picture.height(), 800);
  EXPECT_LT(picture.width(), 1000);
}

TEST_F(PngTest, RefusesWhatDoesNotFit) {
  PngMatrix matrix = {.row_labels = {"a"}, .column_labels = {"b"}, .values = {1.0f, 2.0f}};
  EXPECT_EQ(WriteMatrixPng(path_, matrix).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(WriteMatrixPng(path_, {}).code(), absl::StatusCode::kInvalidArgument);
  matrix.row_labels.resize(kMaxPngCells + 1);
  matrix.values.resize(kMaxPngCells + 1);
  EXPECT_THAT(WriteMatrixPng(path_, matrix).message(), HasSubstr("4097 x 1 cells"));
  const AttentionData data = SyntheticAttention(2, 2, {"a"});
  EXPECT_EQ(WriteHeadPng(path_, data, 2, 0).code(), absl::StatusCode::kInvalidArgument);
  const AttentionData wide = SyntheticAttention(200, 200, {"a"});
  EXPECT_THAT(WriteAttentionGridPng(path_, wide).message(), HasSubstr("select fewer"));
  AttentionData broken = data;
  broken.weights.pop_back();
  EXPECT_EQ(WriteAttentionGridPng(path_, broken).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(PngTest, NamesTheFileThatCannotBeWritten) {
  const absl::Status status =
      WriteHeadPng("/no/such/folder/a.png", SyntheticAttention(1, 1, {"a"}), 0, 0);
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("/no/such/folder/a.png"));
}

TEST_F(PngTest, DrawsOneHeadFromZero) {
  AttentionData data = SyntheticAttention(2, 3, {"a", "b"});
  data.weights.assign(data.weights.size(), 0.25f);
  data.weights[data.offset(1, 2, 3, 3)] = 0.5f;
  ASSERT_TRUE(WriteHeadPng(path_, data, 1, 2).ok());
  EXPECT_NEAR(Picture(path_).Count(ColorOf(0.5)), 15 * 1024, 80);
}

// 3 x 4 panels of 64 x 64 pixels that share one scale.
TEST_F(PngTest, DrawsAllHeadsOnOneScale) {
  AttentionData data = SyntheticAttention(3, 4, {"a", "b"});
  data.weights.assign(data.weights.size(), 0.25f);
  for (size_t row = 0; row < 4; ++row) {
    for (size_t column = 0; column < 4; ++column) data.weights[data.offset(2, 1, row, column)] = 1;
  }
  ASSERT_TRUE(WriteAttentionGridPng(path_, data).ok());
  const Picture picture(path_);
  EXPECT_NEAR(picture.Count(ColorOf(0.25)), 11 * 64 * 64, 80);
  EXPECT_NEAR(picture.Count(ColorOf(1.0)), 64 * 64, 80);
}

TEST_F(PngTest, DrawsWhatTopKLeftOutInGrey) {
  AttentionData data = SyntheticAttention(1, 1, {"a", "b"});
  data.top_k = 1;
  data.header.set_shape(3, 1);
  data.weights = {0.4f, 0.4f, 0.4f, 0.4f};
  data.columns = {3, 0, 1, 2};
  ASSERT_TRUE(WriteHeadPng(path_, data, 0, 0).ok());
  EXPECT_NEAR(Picture(path_).Count(kNoValue), 12 * 1024, 60);
}

TEST_F(PngTest, DrawsOneNumberARow) {
  const AttentionData entropy = SyntheticEntropy(SyntheticAttention(2, 2, {"a", "b"}));
  EXPECT_TRUE(WriteAttentionGridPng(path_, entropy).ok());
  EXPECT_TRUE(WriteHeadPng(path_, entropy, 1, 1).ok());
  EXPECT_TRUE(WriteHeadPng(path_, SyntheticRollout(SyntheticAttention(2, 2, {"a"})), 0, 0).ok());
}

// Bars are 14 high and 420 wide at most.
TEST_F(PngTest, DrawsBarsAsLongAsTheirValues) {
  ASSERT_TRUE(
      WriteBarsPng(path_, {.title = "t", .labels = {"a", "b"}, .values = {1.0f, 0.5f}}).ok());
  EXPECT_NEAR(Picture(path_).Count(ColorOf(0.4)), 14 * (420 + 210), 60);
  EXPECT_TRUE(WriteBarsPng(path_, {.labels = {"a", "b"}, .values = {-1.0f, std::nanf("")}}).ok());
  EXPECT_FALSE(WriteBarsPng(path_, {.labels = {"a"}, .values = {}}).ok());
}

}  // namespace
}  // namespace heed::cli
