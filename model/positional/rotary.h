// Angles position * frequency, and the rotation of queries and keys by them: what sinusoidal, rope,
// xpos and xlnet_relative have in common. Angles are formed in float64: in float32 the angle of
// position 100,000 is off by up to 4e-3.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace heed {

// base^(-2i/dims) for i = 0 … dims/2-1, [dims/2] float64.
at::Tensor InverseFrequencies(int64_t dims, double base);

// positions [P] of any number type, frequencies [F]: [P, F] float64.
at::Tensor Angles(const at::Tensor& positions, const at::Tensor& frequencies);

struct CosSin {
  at::Tensor cos;  // [P, F]
  at::Tensor sin;  // [P, F]
};

// Cosines and sines of the angles, times `factor`, float32. The rows of positions 0 … rows-1 are
// ready, others are computed. Immutable.
class CosSinTable {
 public:
  CosSinTable(at::Tensor frequencies, double factor, int64_t rows);

  CosSin At(const at::Tensor& positions) const;

 private:
  CosSin Compute(const at::Tensor& positions) const;

  const at::Tensor frequencies_;
  const double factor_;
  const int64_t rows_;
  const CosSin table_;
};

// How many rows to keep ready for a model of that many positions (0: not stated).
int64_t ReadyRows(int64_t max_positions);

// Rotates pairs of dimensions (a, b) to (a cos - b sin, b cos + a sin), in place. x: [T, H, d]
// float32, cos and sin [T, d/2]. Pairs are (2i, 2i+1) where interleaved, else (i, i + d/2).
void Rotate(const at::Tensor& x, const CosSin& angles, bool interleaved);

}  // namespace heed
