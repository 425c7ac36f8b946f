// Token ids to the vectors that enter the first layer.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "model/api/batch.h"
#include "model/checkpoint/model_config.h"
#include "model/encoder/linear.h"
#include "model/encoder/weights.h"
#include "model/positional/encoding.h"

namespace heed {

// project(norm(word + segment + task + position)), each part only where the model has it; positions
// by whichever encodings add to embeddings.
// Source: Devlin et al., 2019, arXiv:1810.04805, figure 2; the projection is ALBERT's (Lan et al.,
// 2020, arXiv:1909.11942, section 3.1).
class Embeddings {
 public:
  Embeddings() = default;
  Embeddings(const ModelConfig& config, const Weights& weights,
             std::vector<std::shared_ptr<const PositionalEncoding>> encodings);

  int64_t vocab_size() const { return word_.size(0); }
  // Segments must be below this; 0: they are not read.
  int64_t segment_limit() const { return reads_segments_ ? segment_.size(0) : 0; }

  // Returns [T, D].
  at::Tensor Forward(const RaggedBatch& batch, const TokenPositions& tokens) const;

 private:
  at::Tensor word_;     // [V, E]
  at::Tensor segment_;  // [S, E], or undefined
  at::Tensor task_;     // [1, E], or undefined
  bool reads_segments_ = false;
  bool hidden_tokens_are_zero_ = false;
  double scale_ = 1;
  std::vector<std::shared_ptr<const PositionalEncoding>> encodings_;
  Norm norm_;
  Linear projection_;  // weight undefined: none
};

}  // namespace heed
