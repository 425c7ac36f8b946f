// The colours of numbers, the same in every picture, page and terminal.
#pragma once

#include <array>
#include <cstdint>

namespace heed::cli {

struct Rgb {
  uint8_t red = 0;
  uint8_t green = 0;
  uint8_t blue = 0;
  bool operator==(const Rgb&) const = default;
};

// Viridis by van der Walt, Smith and Firing (matplotlib, CC0): equal steps of a number look like
// equal steps, also without colour vision and in print. 0xRRGGBB, from 0 to 1.
extern const std::array<uint32_t, 256> kViridis;

// The nearest entry of the table; a share beyond [0, 1] has the colour of that end. Not a number:
// kNoValue.
Rgb ColorOf(double share);

// Of what has no value: a grey that the scale does not hold.
inline constexpr Rgb kNoValue = {0xc8, 0xc8, 0xc8};

}  // namespace heed::cli
