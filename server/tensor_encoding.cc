#include "server/tensor_encoding.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

namespace heed {
namespace {

static_assert(std::endian::native == std::endian::little, "heed.v1.Tensor is little-endian");

// Exact and rounded to nearest by IEEE 754, in hardware where the compiler may use it.
__extension__ typedef _Float16 Half;

constexpr double kLevels = 255;
// What the largest weight may lie above its 255 levels by rounding alone.
constexpr double kRestOfNothing = 1e-6;
// What a row's sum may move by, with room for the client's float arithmetic.
constexpr double kSumTolerance = 0.98e-3;

void AppendHalfRow(absl::Span<const float> row, std::string& data) {
  const size_t start = data.size();
  data.resize(start + row.size() * sizeof(Half));
  char* out = data.data() + start;
  for (const float value : row) {
    const Half half = static_cast<Half>(value);
    std::memcpy(out, &half, sizeof(half));
    out += sizeof(half);
  }
}

// Levels by rounding to nearest; a row of n weights may then be off by n/2 levels in sum.
struct Quantized {
  std::vector<uint8_t> levels;
  double total = 0;  // of levels
};

Quantized RoundToNearest(absl::Span<const float> row, double scale) {
  Quantized result;
  result.levels.reserve(row.size());
  for (const float value : row) {
    const double level = std::min(kLevels, std::round(value / scale));
    result.levels.push_back(static_cast<uint8_t>(level));
    result.total += level;
  }
  return result;
}

// Moves levels by one, those first that are rounded the other way with the least error, until the
// levels sum up to within half of `target`. An error stays below one level.
void MatchSum(absl::Span<const float> row, double scale, double target, Quantized& quantized) {
  const auto moves = static_cast<int64_t>(std::round(target - quantized.total));
  if (moves == 0) return;
  const double step = moves > 0 ? 1 : -1;
  // How far each value lies on the side it would move to; only those are candidates, so that a move
  // never takes a value further than one level from where it is.
  std::vector<std::pair<double, size_t>> candidates;
  for (size_t i = 0; i < row.size(); ++i) {
    const double rest = step * (row[i] / scale - quantized.levels[i]);
    if (rest > kRestOfNothing) candidates.emplace_back(-rest, i);
  }
  const size_t count = std::min<size_t>(static_cast<size_t>(std::abs(moves)), candidates.size());
  std::partial_sort(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(count),
                    candidates.end());
  for (size_t c = 0; c < count; ++c) {
    uint8_t& level = quantized.levels[candidates[c].second];
    level = static_cast<uint8_t>(level + static_cast<int>(step));
    quantized.total += step;
  }
}

void AppendUint8Row(absl::Span<const float> row, v1::Tensor& tensor) {
  const float largest = row.empty() ? 0 : *std::max_element(row.begin(), row.end());
  double scale = largest / kLevels;
  std::string& data = *tensor.mutable_data();
  // A row without weight, or with less than a float can divide by 255.
  if (static_cast<float>(scale) < std::numeric_limits<float>::min()) {
    tensor.add_scales(0);
    data.append(row.size(), '\0');
    return;
  }
  const double sum = std::accumulate(row.begin(), row.end(), 0.0);
  Quantized quantized = RoundToNearest(row, scale);
  MatchSum(row, scale, sum / scale, quantized);
  // Half a level may still be more than the sum may move: where one weight has most of its row.
  const double error = scale * quantized.total - sum;
  if (row.size() > 1 && std::abs(error) > kSumTolerance) {
    scale = (sum + std::copysign(kSumTolerance, error)) / quantized.total;
  }
  tensor.add_scales(static_cast<float>(scale));
  data.append(quantized.levels.begin(), quantized.levels.end());
}

}  // namespace

size_t ElementBytes(v1::TensorType type) {
  if (type == v1::TENSOR_TYPE_UINT8) return sizeof(uint8_t);
  return type == v1::TENSOR_TYPE_FLOAT16 ? sizeof(Half) : sizeof(float);
}

void AppendRow(absl::Span<const float> row, v1::Tensor& tensor) {
  if (tensor.type() == v1::TENSOR_TYPE_UINT8) return AppendUint8Row(row, tensor);
  std::string& data = *tensor.mutable_data();
  if (tensor.type() == v1::TENSOR_TYPE_FLOAT16) return AppendHalfRow(row, data);
  data.append(reinterpret_cast<const char*>(row.data()), row.size() * sizeof(float));
}

}  // namespace heed
