#include "model/positional/rotary.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/exp.h>

#include <algorithm>
#include <cmath>

namespace heed {

at::Tensor InverseFrequencies(int64_t dims, double base) {
  const at::Tensor pair = at::arange(dims / 2, at::kDouble);
  return at::exp(pair * (-2 * std::log(base) / static_cast<double>(dims)));
}

at::Tensor Angles(const at::Tensor& positions, const at::Tensor& frequencies) {
  return positions.to(at::kDouble).unsqueeze(1) * frequencies.to(positions.device());
}

CosSinTable::CosSinTable(at::Tensor frequencies, double factor, int64_t rows)
    : frequencies_(std::move(frequencies)),
      factor_(factor),
      rows_(rows),
      table_(Compute(at::arange(rows, at::kLong))) {}

CosSin CosSinTable::Compute(const at::Tensor& positions) const {
  const at::Tensor angles = Angles(positions, frequencies_);
  return {(angles.cos() * factor_).to(at::kFloat), (angles.sin() * factor_).to(at::kFloat)};
}

CosSin CosSinTable::At(const at::Tensor& positions) const {
  if (!positions.device().is_cpu() || positions.numel() == 0 ||
      positions.max().item<int64_t>() >= rows_ || positions.min().item<int64_t>() < 0) {
    return Compute(positions);
  }
  return {at::embedding(table_.cos, positions), at::embedding(table_.sin, positions)};
}

int64_t ReadyRows(int64_t max_positions) { return std::clamp<int64_t>(max_positions, 512, 16384); }

void Rotate(const at::Tensor& x, const CosSin& angles, bool interleaved) {
  const int64_t half = x.size(-1) / 2;
  const at::Tensor a = interleaved ? x.slice(-1, 0, 2 * half, 2) : x.narrow(-1, 0, half);
  const at::Tensor b = interleaved ? x.slice(-1, 1, 2 * half, 2) : x.narrow(-1, half, half);
  const at::Tensor cos = angles.cos.unsqueeze(1);
  const at::Tensor sin = angles.sin.unsqueeze(1);
  const at::Tensor turned = (a * cos).addcmul_(b, sin, -1);
  b.mul_(cos).addcmul_(a, sin);
  a.copy_(turned);
}

}  // namespace heed
