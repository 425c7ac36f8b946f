#include "model/positional/rope_frequencies.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/where.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "model/positional/rotary.h"

namespace heed {
namespace {

constexpr double kTwoPi = 2 * std::numbers::pi;

// The place among the pairs of the one that turns `rotations` times over the original length.
double PairOf(double rotations, int64_t dims, double base, const RopeScaling& scaling) {
  return static_cast<double>(dims) * std::log(scaling.original_positions / (rotations * kTwoPi)) /
         (2 * std::log(base));
}

// How far each pair is left alone: 1 wholly, 0 not at all; [dims/2].
at::Tensor YarnShare(const at::Tensor& frequencies, int64_t dims, double base,
                     const RopeScaling& scaling) {
  if (scaling.ramp_over_rotations) {
    const at::Tensor rotations = frequencies * (scaling.original_positions / kTwoPi);
    return ((rotations - scaling.beta_slow) / (scaling.beta_fast - scaling.beta_slow)).clamp(0, 1);
  }
  double low = PairOf(scaling.beta_fast, dims, base, scaling);
  double high = PairOf(scaling.beta_slow, dims, base, scaling);
  if (scaling.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, static_cast<double>(dims - 1));
  if (low == high) high += 0.001;  // as the authors do: a step instead of a ramp
  const at::Tensor pair = at::arange(dims / 2, at::kDouble);
  return 1 - ((pair - low) / (high - low)).clamp(0, 1);
}

at::Tensor Yarn(const at::Tensor& frequencies, int64_t dims, double base,
                const RopeScaling& scaling) {
  const at::Tensor share = YarnShare(frequencies, dims, base, scaling);
  return frequencies / scaling.factor * (1 - share) + frequencies * share;
}

at::Tensor Llama3(const at::Tensor& frequencies, const RopeScaling& scaling) {
  const double low = scaling.low_freq_factor;
  const double high = scaling.high_freq_factor;
  // Waves that fit the original length this many times.
  const at::Tensor waves = frequencies * (scaling.original_positions / kTwoPi);
  const at::Tensor share = ((waves - low) / (high - low)).clamp(0, 1);
  const at::Tensor between = (1 - share) * frequencies / scaling.factor + share * frequencies;
  return at::where(waves < low, frequencies / scaling.factor,
                   at::where(waves > high, frequencies, between));
}

}  // namespace

at::Tensor RopeFrequencies(int64_t dims, double base, const RopeScaling& scaling) {
  const at::Tensor frequencies = InverseFrequencies(dims, base);
  if (scaling.kind == "linear") return frequencies / scaling.factor;
  if (scaling.kind == "yarn") return Yarn(frequencies, dims, base, scaling);
  if (scaling.kind == "llama3") return Llama3(frequencies, scaling);
  return frequencies;
}

at::Tensor DynamicFrequencies(const at::Tensor& lengths, int64_t dims, double base,
                              const RopeScaling& scaling) {
  const auto d = static_cast<double>(dims);
  const at::Tensor length = lengths.to(at::kDouble).clamp_min(scaling.original_positions);
  const at::Tensor growth =
      length * (scaling.factor / scaling.original_positions) - (scaling.factor - 1);
  const at::Tensor log_base = growth.log() * (d / (d - 2)) + std::log(base);
  const at::Tensor pair = at::arange(dims / 2, at::kDouble) * (-2 / d);
  return at::exp(log_base.unsqueeze(1) * pair.to(lengths.device()));
}

double YarnMscale(double factor, double mscale) {
  return factor <= 1 ? 1 : 0.1 * mscale * std::log(factor) + 1;
}

}  // namespace heed
