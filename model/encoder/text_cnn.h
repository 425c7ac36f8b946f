// TextCNN: the classifier without attention that encoders are measured against.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "absl/status/status.h"
#include "model/api/batch.h"
#include "model/checkpoint/model_config.h"
#include "model/encoder/linear.h"
#include "model/encoder/weights.h"

namespace heed {

// linear([max over time of relu(conv_k(embedding)) for each kernel size k]).
// Source: Kim, 2014, arXiv:1408.5882, section 2 (the static single-channel model). A text shorter
// than a kernel is followed by zeros. Word order matters within a kernel and nowhere else.
class TextCnn {
 public:
  TextCnn(const ModelConfig& config, const Weights& weights);

  // INVALID_ARGUMENT for a token id outside the table or a batch that is not well formed.
  absl::Status Check(const RaggedBatch& batch) const;
  // Returns logits, [B, C]. Hidden tokens (key_mask 0) enter as zeros.
  at::Tensor Forward(const RaggedBatch& batch) const;

 private:
  at::Tensor word_;  // [V, D]
  struct Kernel {
    at::Tensor weight;  // [F, D, K]
    at::Tensor bias;    // [F]
  };
  std::vector<Kernel> kernels_;
  Linear classifier_;
  int64_t max_tokens_ = 0;
};

}  // namespace heed
