// The affine pieces every layer is made of, held with their weights.
#pragma once

#include <ATen/core/Tensor.h>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "model/checkpoint/model_config.h"

namespace heed {

// y = x Wᵀ + b. weight: [out, in], float32 or bfloat16; bias: [out] float32, or undefined.
struct Linear {
  at::Tensor weight;
  at::Tensor bias;

  // x: [T, in] float32. Returns [T, out] float32. With bfloat16 weights only the product is
  // computed in that precision; what is added to it is not.
  at::Tensor operator()(const at::Tensor& x) const;
};

// A normalization over the last dimension, or none.
// LayerNorm: Ba, Kiros and Hinton, 2016, arXiv:1607.06450, equation 4.
// RMSNorm: Zhang and Sennrich, 2019, arXiv:1910.07467, equation 4.
struct Norm {
  NormKind kind = NormKind::kLayerNorm;
  at::Tensor weight;  // [D]; undefined: no norm, x is returned as it is
  at::Tensor bias;    // [D], or undefined
  double eps = 1e-12;

  at::Tensor operator()(const at::Tensor& x) const;
};

// An elementwise function applied in place.
using Activation = at::Tensor (*)(at::Tensor x);

// The activation of that Hugging Face name ("gelu" is the erf form; "gelu_new" and
// "gelu_pytorch_tanh" the tanh form; "" changes nothing). UNIMPLEMENTED for an unknown name.
absl::StatusOr<Activation> FindActivation(absl::string_view name);

}  // namespace heed
