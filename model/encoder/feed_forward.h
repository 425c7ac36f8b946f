// The feed-forward network of a layer: two linear layers on each token by itself.
#pragma once

#include <ATen/core/Tensor.h>

#include "model/encoder/linear.h"

namespace heed {

// down(act(up(x))), or gated: down(act(gate(x)) · up(x)).
// Source: Vaswani et al., 2017, arXiv:1706.03762, equation 2; gated: Shazeer, "GLU Variants Improve
// Transformer", 2020, arXiv:2002.05202, equation 6.
struct FeedForward {
  // [F, D]; gated: [2F, D], the gate's rows first.
  Linear up;
  Linear down;  // [D, F]
  Activation activation = nullptr;
  bool gated = false;

  // x: [T, D]. Returns [T, D].
  at::Tensor operator()(const at::Tensor& x) const;
};

}  // namespace heed
