#include "model/positional/buckets.h"

#include <ATen/ops/index_select.h>
#include <ATen/ops/where.h>

#include <cmath>

#include "model/positional/distance.h"

namespace heed {
namespace {

// Where a distance is an exact power its logarithm is a whole number, give or take the rounding of
// float64; anything else is much farther from one.
constexpr double kRounding = 1e-9;

// ln(distance / first) / ln(last / first), with distances below `first` taken as `first`.
at::Tensor LogShare(const at::Tensor& distance, double first, double last) {
  return (distance.to(at::kDouble) / first).clamp_min(1).log() / std::log(last / first);
}

}  // namespace

at::Tensor T5Buckets(const at::Tensor& distances, int64_t bucket_count, int64_t max_distance) {
  const int64_t side = bucket_count / 2;
  const int64_t exact = side / 2;
  const at::Tensor size = distances.abs();
  const at::Tensor share =
      LogShare(size, static_cast<double>(exact), static_cast<double>(max_distance));
  const at::Tensor step = (share * static_cast<double>(side - exact) + kRounding).floor();
  const at::Tensor far = (step.to(at::kLong) + exact).clamp_max(side - 1);
  return at::where(size < exact, size, far) + (distances > 0).to(at::kLong) * side;
}

at::Tensor LogBuckets(const at::Tensor& distances, int64_t bucket_count, int64_t max_position) {
  const int64_t mid = bucket_count / 2;
  const at::Tensor size = distances.abs();
  const at::Tensor share =
      LogShare(size, static_cast<double>(mid), static_cast<double>(max_position - 1));
  const at::Tensor step = (share * static_cast<double>(mid - 1) - kRounding).ceil();
  return at::where(size <= mid, distances, distances.sign() * (step.to(at::kLong) + mid));
}

at::Tensor T5BucketBias(const Tile& tile, const at::Tensor& table, int64_t bucket_count,
                        int64_t max_distance) {
  return DistanceBias(tile, [&](const at::Tensor& distances) {
    return table.index_select(1, T5Buckets(distances, bucket_count, max_distance));
  });
}

}  // namespace heed
