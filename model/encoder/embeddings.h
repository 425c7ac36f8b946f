// Token ids to the vectors that enter the first layer.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

#include "model/encoder/linear.h"
#include "model/positional/encoding.h"

namespace heed {

// LN(word + segment + position), positions by whichever encoding the model has.
// Source: Devlin et al., 2019, arXiv:1810.04805, figure 2.
struct Embeddings {
  at::Tensor word;     // [V, D]
  at::Tensor segment;  // [S, D]
  std::shared_ptr<const PositionalEncoding> positional;
  LayerNorm norm;

  // ids, segments, positions: [T] int64. Returns [T, D].
  at::Tensor Forward(const at::Tensor& ids, const at::Tensor& segments,
                     const at::Tensor& positions) const;
};

}  // namespace heed
