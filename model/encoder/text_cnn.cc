#include "model/encoder/text_cnn.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/conv1d.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/stack.h>

#include "absl/strings/str_cat.h"
#include "model/encoder/check_batch.h"

namespace heed {

TextCnn::TextCnn(const ModelConfig& config, const Weights& weights)
    : word_(weights.Get("embeddings.word")),
      classifier_(weights.GetLinear("classifier")),
      max_tokens_(config.max_tokens) {
  for (size_t i = 0; i < config.text_cnn.kernel_sizes.size(); ++i) {
    const std::string role = absl::StrCat("convolutions.", i);
    kernels_.push_back({weights.Get(role + ".weight"), weights.Get(role + ".bias")});
  }
}

absl::Status TextCnn::Check(const RaggedBatch& batch) const {
  absl::Status status = CheckBatchShape(batch);
  if (status.ok()) status = CheckRange(batch.ids, word_.size(0), "token id");
  if (status.ok()) status = CheckLengths(batch, max_tokens_);
  return status;
}

at::Tensor TextCnn::Forward(const RaggedBatch& batch) const {
  const at::Tensor ids =
      at::from_blob(const_cast<int64_t*>(batch.ids.data()),
                    {static_cast<int64_t>(batch.token_count())}, at::TensorOptions(at::kLong));
  at::Tensor x = at::embedding(word_, ids);
  if (!batch.key_mask.empty()) {
    const at::Tensor seen = at::from_blob(const_cast<uint8_t*>(batch.key_mask.data()),
                                          {x.size(0), 1}, at::TensorOptions(at::kByte));
    x = x.mul(seen.to(at::kFloat));
  }
  std::vector<at::Tensor> texts;
  for (size_t b = 0; b < batch.text_count(); ++b) {
    const at::Tensor text = x.narrow(0, batch.cu_seqlens[b], batch.length(b)).t().unsqueeze(0);
    std::vector<at::Tensor> features;
    for (const Kernel& kernel : kernels_) {
      const int64_t missing = std::max<int64_t>(kernel.weight.size(2) - text.size(2), 0);
      const at::Tensor padded =
          missing > 0 ? at::constant_pad_nd(text, at::IntArrayRef({0, missing})) : text;
      features.push_back(at::conv1d(padded, kernel.weight, kernel.bias).relu_()[0].amax(-1));
    }
    texts.push_back(at::cat(features));
  }
  return classifier_(at::stack(texts));
}

}  // namespace heed
