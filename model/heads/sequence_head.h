// The classifier on top of an encoder: one vector a text, then one logit a label.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "model/api/batch.h"
#include "model/api/model_info.h"
#include "model/checkpoint/model_config.h"
#include "model/encoder/linear.h"
#include "model/encoder/weights.h"

namespace heed {

// Mean of each text's rows, hidden keys left out. x: [T, D]. Returns [B, D].
at::Tensor MeanPool(const at::Tensor& x, const RaggedBatch& batch);

// BERT pooler, tanh(W x_0 + b) of the first token (Devlin et al., 2019, arXiv:1810.04805, section
// 3), or the mean over the text's tokens (Reimers and Gurevych, "Sentence-BERT", 2019,
// arXiv:1908.10084, section 3), then a linear classifier.
class SequenceHead {
 public:
  // config.pooling must not be kNone.
  SequenceHead(const ModelConfig& config, const Weights& weights);

  // last_hidden_state: [T, D]. Returns logits, [B, C].
  at::Tensor Forward(const at::Tensor& last_hidden_state, const RaggedBatch& batch) const;

 private:
  std::optional<Linear> pooler_;  // absent: mean pooling
  Linear classifier_;
};

// Logits through the head's activation, over the last dimension. Returns [B, C].
at::Tensor Scores(const at::Tensor& logits, ScoreFunction function);

}  // namespace heed
