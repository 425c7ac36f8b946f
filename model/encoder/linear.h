// The two affine pieces every layer is made of, held with their weights.
#pragma once

#include <ATen/core/Tensor.h>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace heed {

// y = x Wᵀ + b. weight: [out, in], bias: [out].
struct Linear {
  at::Tensor weight;
  at::Tensor bias;

  // x: [T, in]. Returns [T, out].
  at::Tensor operator()(const at::Tensor& x) const;
};

// Layer normalization over the last dimension.
// Source: Ba, Kiros and Hinton, 2016, arXiv:1607.06450, equation 4.
struct LayerNorm {
  at::Tensor weight;  // [D]
  at::Tensor bias;    // [D]
  double eps = 1e-12;

  at::Tensor operator()(const at::Tensor& x) const;
};

// An elementwise function applied in place.
using Activation = at::Tensor (*)(at::Tensor x);

// The activation of that Hugging Face name ("gelu" is the erf form; "gelu_new" and
// "gelu_pytorch_tanh" the tanh form). UNIMPLEMENTED for an unknown name.
absl::StatusOr<Activation> FindActivation(absl::string_view name);

}  // namespace heed
