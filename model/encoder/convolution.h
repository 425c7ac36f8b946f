// DeBERTa-v2's convolution: the first layer's output also sees its input's neighbours.
#pragma once

#include <ATen/core/Tensor.h>

#include "absl/status/statusor.h"
#include "model/api/batch.h"
#include "model/checkpoint/model_config.h"
#include "model/encoder/linear.h"
#include "model/encoder/weights.h"

namespace heed {

// norm(residual + act(conv1d(x))) within each text, zeros beyond its ends; hidden tokens
// (RaggedBatch::key_mask 0) come out as zeros.
// Source: He, Liu, Gao and Chen, "DeBERTa", 2021, arXiv:2006.03654, as its second version (the
// paper's appendix calls it nGiE) computes it.
class Convolution {
 public:
  static absl::StatusOr<Convolution> Create(const ModelConfig& config, const Weights& weights);

  // x, residual: [T, D]. Returns [T, D].
  at::Tensor Forward(const at::Tensor& x, const at::Tensor& residual,
                     const RaggedBatch& batch) const;

 private:
  at::Tensor weight_;  // [D, D / groups, K]
  at::Tensor bias_;    // [D]
  int64_t groups_ = 1;
  Activation activation_ = nullptr;
  Norm norm_;
};

}  // namespace heed
