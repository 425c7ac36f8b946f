// Reads a heed.v1.Tensor by its contract alone, without the server's code.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "heed/v1/common.pb.h"

namespace heed {

// IEEE 754 binary16, of numbers at least 0.
inline double DecodeHalf(uint16_t bits) {
  const int exponent = bits >> 10;
  const int fraction = bits & 0x3FF;
  return exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
}

// [elements], row-major.
inline std::vector<double> DecodeTensor(const v1::Tensor& tensor) {
  std::vector<double> values;
  const std::string& data = tensor.data();
  const size_t width = tensor.type() == v1::TENSOR_TYPE_UINT8     ? 1
                       : tensor.type() == v1::TENSOR_TYPE_FLOAT16 ? 2
                                                                  : 4;
  const size_t rows = static_cast<size_t>(tensor.shape(0));
  const size_t columns = data.size() / width / rows;
  for (size_t at = 0; at < data.size(); at += width) {
    if (width == 1) {
      const double scale = tensor.scales(static_cast<int>(at / columns));
      values.push_back(scale * static_cast<unsigned char>(data[at]));
    } else if (width == 2) {
      uint16_t bits = 0;
      std::memcpy(&bits, &data[at], width);
      values.push_back(DecodeHalf(bits));
    } else {
      float value = 0;
      std::memcpy(&value, &data[at], width);
      values.push_back(value);
    }
  }
  return values;
}

}  // namespace heed
