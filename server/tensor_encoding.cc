#include "server/tensor_encoding.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace heed {
namespace {

constexpr double kLevels = 255;

static_assert(std::endian::native == std::endian::little, "tensors are little-endian");

// Quantizes a row in units of `scale` so that it keeps its sum: every value is rounded down, and
// those that lost most go up by one until the row's sum is right (the largest-remainder method of
// apportionment, Hamilton 1792). Plain rounding would be off by up to half a unit a key, and by
// 1e-3 in all on any row longer than a few hundred keys.
float QuantizeRow(absl::Span<const float> row, uint8_t* out) {
  const float largest = *std::max_element(row.begin(), row.end());
  if (!(largest > 0)) {
    std::fill_n(out, row.size(), uint8_t{0});
    return 0;
  }
  double sum = 0;
  for (const float value : row) sum += value;
  // A whole number of units: a little larger than largest / 255, so that none exceeds 255.
  const double total = std::floor(sum / largest * kLevels);
  const double scale = sum / total;
  std::vector<std::pair<double, size_t>> lost;
  lost.reserve(row.size());
  double given = 0;
  for (size_t i = 0; i < row.size(); ++i) {
    const double units = row[i] / scale;
    const double floor = std::clamp(std::floor(units), 0.0, kLevels);
    out[i] = static_cast<uint8_t>(floor);
    given += floor;
    if (floor < kLevels) lost.emplace_back(units - floor, i);
  }
  const auto missing = static_cast<size_t>(
      std::clamp(std::round(total - given), 0.0, static_cast<double>(lost.size())));
  std::nth_element(lost.begin(), lost.begin() + static_cast<std::ptrdiff_t>(missing), lost.end(),
                   [](const auto& a, const auto& b) {
                     return a.first != b.first ? a.first > b.first : a.second < b.second;
                   });
  for (size_t i = 0; i < missing; ++i) ++out[lost[i].second];
  return static_cast<float>(scale);
}

}  // namespace

size_t TensorValueBytes(v1::TensorType type) {
  return type == v1::TENSOR_TYPE_UINT8 ? 1 : type == v1::TENSOR_TYPE_FLOAT16 ? 2 : 4;
}

void EncodeTensor(v1::TensorType type, absl::Span<const float> values, size_t columns,
                  v1::Tensor& tensor) {
  tensor.set_type(type);
  std::string& data = *tensor.mutable_data();
  data.resize(values.size() * TensorValueBytes(type));
  if (type == v1::TENSOR_TYPE_UINT8) {
    for (size_t row = 0; row < values.size(); row += columns) {
      tensor.add_scales(
          QuantizeRow(values.subspan(row, columns), reinterpret_cast<uint8_t*>(data.data()) + row));
    }
  } else if (type == v1::TENSOR_TYPE_FLOAT16) {
    for (size_t i = 0; i < values.size(); ++i) {
      const auto half = static_cast<_Float16>(values[i]);
      std::memcpy(data.data() + i * sizeof(half), &half, sizeof(half));
    }
  } else if (!values.empty()) {
    std::memcpy(data.data(), values.data(), data.size());
  }
}

}  // namespace heed
