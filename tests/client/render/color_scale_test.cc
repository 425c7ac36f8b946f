#include "client/render/color_scale.h"

#include <gtest/gtest.h>

#include <cmath>

namespace heed::cli {
namespace {

// Lightness of CIELAB (D65), which viridis is built on.
double Lightness(Rgb color) {
  const auto linear = [](uint8_t part) {
    const double share = part / 255.0;
    return share <= 0.04045 ? share / 12.92 : std::pow((share + 0.055) / 1.055, 2.4);
  };
  const double luminance =
      0.2126 * linear(color.red) + 0.7152 * linear(color.green) + 0.0722 * linear(color.blue);
  return luminance > 0.008856 ? 116.0 * std::cbrt(luminance) - 16.0 : 903.3 * luminance;
}

// First, middle and last colour of matplotlib 3.9.2's table.
TEST(ColorScaleTest, IsViridis) {
  EXPECT_EQ(ColorOf(0.0), (Rgb{0x44, 0x01, 0x54}));
  EXPECT_EQ(ColorOf(128.0 / 255.0), (Rgb{0x21, 0x91, 0x8c}));
  EXPECT_EQ(ColorOf(1.0), (Rgb{0xfd, 0xe7, 0x25}));
}

TEST(ColorScaleTest, KeepsToItsEndsAndShowsWhatIsNoNumber) {
  EXPECT_EQ(ColorOf(-3.0), ColorOf(0.0));
  EXPECT_EQ(ColorOf(7.0), ColorOf(1.0));
  EXPECT_EQ(ColorOf(std::nan("")), kNoValue);
}

TEST(ColorScaleTest, GrowsLighterInEqualSteps) {
  const double step = (Lightness(ColorOf(1.0)) - Lightness(ColorOf(0.0))) / 8.0;
  for (int i = 0; i < 8; ++i) {
    const double difference = Lightness(ColorOf((i + 1) / 8.0)) - Lightness(ColorOf(i / 8.0));
    EXPECT_NEAR(difference, step, 0.15 * step) << i;
  }
}

}  // namespace
}  // namespace heed::cli
