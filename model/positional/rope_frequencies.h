// The frequencies of rotary positions and the ways of stretching them to longer texts.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

namespace heed {

struct RopeScaling {
  // "none", "linear", "dynamic", "yarn" or "llama3".
  std::string kind = "none";
  double factor = 1;
  // The longest input before stretching, in positions.
  double original_positions = 0;
  // yarn: rotations over the original length above which a pair of dimensions is left alone, and
  // below which it is interpolated in full.
  double beta_fast = 32;
  double beta_slow = 1;
  // yarn: whether the ends of the ramp are rounded outwards to whole dimensions, and whether the
  // ramp is linear in the number of rotations, as in the paper, instead of in the dimension.
  bool truncate = true;
  bool ramp_over_rotations = false;
  // llama3: the same two bounds.
  double low_freq_factor = 1;
  double high_freq_factor = 4;
};

// Angle per position of each pair of dimensions, [dims/2] float64. linear: Chen et al., 2023,
// arXiv:2306.15595, section 2.3. yarn: Peng et al., 2023, arXiv:2309.00071, section 3.2, with the
// ramp of its authors' code unless `ramp_over_rotations`. llama3: the interpolation of the Llama
// 3.1 models, published as code. dynamic: those of texts up to original_positions.
at::Tensor RopeFrequencies(int64_t dims, double base, const RopeScaling& scaling);

// dynamic (NTK-aware, Peng et al., section 3.3 and appendix B.1): what a text of `lengths`
// positions has, [P, dims/2] float64 for lengths [P] int64. The base grows once a text is longer
// than original_positions.
at::Tensor DynamicFrequencies(const at::Tensor& lengths, int64_t dims, double base,
                              const RopeScaling& scaling);

// yarn's attention temperature: 0.1 mscale ln(factor) + 1, and 1 for factors up to 1.
double YarnMscale(double factor, double mscale);

}  // namespace heed
