#include "model/encoder/convolution.h"

#include <ATen/ops/conv1d.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/from_blob.h>

namespace heed {

absl::StatusOr<Convolution> Convolution::Create(const ModelConfig& config, const Weights& weights) {
  absl::StatusOr<Activation> activation = FindActivation(config.convolution.activation);
  if (!activation.ok()) return activation.status();
  Convolution convolution;
  convolution.weight_ = weights.Get("convolution.weight");
  convolution.bias_ = weights.Get("convolution.bias");
  convolution.groups_ = config.convolution.groups;
  convolution.activation_ = *activation;
  convolution.norm_ = weights.GetNorm("convolution.norm", config.norm, config.norm_eps);
  return convolution;
}

at::Tensor Convolution::Forward(const at::Tensor& x, const at::Tensor& residual,
                                const RaggedBatch& batch) const {
  at::Tensor result = at::empty_like(x);
  const int64_t padding = (weight_.size(2) - 1) / 2;
  for (size_t b = 0; b < batch.text_count(); ++b) {
    const at::Tensor text = x.narrow(0, batch.cu_seqlens[b], batch.length(b));
    result.narrow(0, batch.cu_seqlens[b], batch.length(b))
        .copy_(at::conv1d(text.t().unsqueeze(0), weight_, bias_, 1, padding, 1, groups_)[0].t());
  }
  result = norm_(activation_(std::move(result)).add_(residual));
  if (batch.key_mask.empty()) return result;
  const at::Tensor seen = at::from_blob(const_cast<uint8_t*>(batch.key_mask.data()), {x.size(0), 1},
                                        at::TensorOptions(at::kByte));
  return result.mul(seen.to(at::kFloat));
}

}  // namespace heed
