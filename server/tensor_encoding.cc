#include "server/tensor_encoding.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

namespace heed {
namespace {

static_assert(std::endian::native == std::endian::little, "heed.v1.Tensor is little-endian");

// Conversion rounds to nearest by IEEE 754.
__extension__ typedef _Float16 Half;

constexpr double kLevels = 255;
// What the largest weight may lie above its 255 levels by rounding alone.
constexpr float kRestOfNothing = 1e-3f;
// What a row's sum may move by, with room for the client's float arithmetic.
constexpr double kSumTolerance = 0.98e-3;

inline __attribute__((always_inline)) void ToHalves(absl::Span<const float> row, char* out) {
  for (const float value : row) {
    const Half half = static_cast<Half>(value);
    std::memcpy(out, &half, sizeof(half));
    out += sizeof(half);
  }
}

#if defined(__x86_64__)
// One instruction a number where a call of the compiler's library would be.
__attribute__((target("avx,f16c"))) void ToHalvesF16c(absl::Span<const float> row, char* out) {
  ToHalves(row, out);
}
#endif

void AppendHalfRow(absl::Span<const float> row, std::string& data) {
  const size_t start = data.size();
  data.resize(start + row.size() * sizeof(Half));
  char* const out = data.data() + start;
#if defined(__x86_64__)
  static const bool has_f16c = __builtin_cpu_supports("f16c") && __builtin_cpu_supports("avx");
  if (has_f16c) return ToHalvesF16c(row, out);
#endif
  ToHalves(row, out);
}

// Rounds to nearest; returns the sum of the levels. A row of n weights may then be off by n/2
// levels.
int64_t RoundToNearest(absl::Span<const float> row, float per_scale, uint8_t* levels) {
  int64_t total = 0;
  for (size_t i = 0; i < row.size(); ++i) {
    const auto level = static_cast<int32_t>(row[i] * per_scale + 0.5f);
    levels[i] = static_cast<uint8_t>(level);
    total += level;
  }
  return total;
}

constexpr int32_t kMostRest = 64;

// How far each value lies on the side that `step` (1 or -1) would move its level to, from 1 to
// kMostRest, a half. 0: it must not move, since it would then be further than one level from where
// it is, or the largest above 255. Coarse, so that one pass over counts does for a sort.
std::vector<uint8_t> Rests(absl::Span<const float> row, float per_scale, float step,
                           const uint8_t* levels) {
  std::vector<uint8_t> rests(row.size());
  for (size_t i = 0; i < row.size(); ++i) {
    const float rest = step * (row[i] * per_scale - static_cast<float>(levels[i]));
    const int32_t coarse = std::min(kMostRest, 1 + static_cast<int32_t>(rest * (2 * kMostRest)));
    rests[i] = static_cast<uint8_t>(rest < kRestOfNothing ? 0 : coarse);
  }
  return rests;
}

// Moves levels by one, those first that are rounded the other way with the least error, until they
// sum up to within half of `target`. Returns their sum.
int64_t MatchSum(absl::Span<const float> row, float per_scale, double target, int64_t total,
                 uint8_t* levels) {
  const auto moves = static_cast<int64_t>(std::round(target - static_cast<double>(total)));
  if (moves == 0) return total;
  const int step = moves > 0 ? 1 : -1;
  const std::vector<uint8_t> rests = Rests(row, per_scale, static_cast<float>(step), levels);
  std::array<int64_t, kMostRest + 1> counts{};
  for (const uint8_t rest : rests) ++counts[rest];
  int64_t left = std::abs(moves);
  // All above `last` move, and of `last` the first ones.
  size_t last = kMostRest;
  for (; last > 1 && counts[last] < left; --last) left -= counts[last];
  for (size_t i = 0; i < row.size(); ++i) {
    if (rests[i] < last || (rests[i] == last && --left < 0)) continue;
    levels[i] = static_cast<uint8_t>(levels[i] + step);
    total += step;
  }
  return total;
}

void AppendUint8Row(absl::Span<const float> row, v1::Tensor& tensor) {
  const float largest = row.empty() ? 0 : *std::max_element(row.begin(), row.end());
  double scale = largest / kLevels;
  std::string& data = *tensor.mutable_data();
  // A row without weight, or with less than floats can divide by 255 and back.
  if (static_cast<float>(scale) < std::numeric_limits<float>::min()) {
    tensor.add_scales(0);
    data.append(row.size(), '\0');
    return;
  }
  const size_t start = data.size();
  data.resize(start + row.size());
  auto* const levels = reinterpret_cast<uint8_t*>(data.data() + start);
  const double sum = std::accumulate(row.begin(), row.end(), 0.0);
  const auto per_scale = static_cast<float>(1 / scale);
  const int64_t nearest = RoundToNearest(row, per_scale, levels);
  const auto total = static_cast<double>(MatchSum(row, per_scale, sum / scale, nearest, levels));
  // Half a level may still be more than the sum may move: where one weight has most of its row.
  const double error = scale * total - sum;
  if (row.size() > 1 && std::abs(error) > kSumTolerance) {
    scale = (sum + std::copysign(kSumTolerance, error)) / total;
  }
  tensor.add_scales(static_cast<float>(scale));
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
