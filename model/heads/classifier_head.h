// The classifier on top of an encoder: token vectors to one logit a label, for each text or for
// each token.
#pragma once

#include <ATen/core/Tensor.h>

#include "absl/status/statusor.h"
#include "model/api/batch.h"
#include "model/api/model_info.h"
#include "model/checkpoint/model_config.h"
#include "model/encoder/linear.h"
#include "model/encoder/weights.h"

namespace heed {

// Mean of each text's rows, hidden keys left out; zeros where all are hidden. x: [T, D]. Returns
// [B, D].
at::Tensor MeanPool(const at::Tensor& x, const RaggedBatch& batch);

// pool → dense → activation → norm → linear, where the model has the part; HeadConfig says which.
// BERT's pooler is the first token and a tanh layer (Devlin et al., 2019, arXiv:1810.04805, section
// 3); the mean is that of Reimers and Gurevych, "Sentence-BERT", 2019, arXiv:1908.10084, section 3.
class ClassifierHead {
 public:
  // config.head.pooling must not be kNone.
  static absl::StatusOr<ClassifierHead> Create(const ModelConfig& config, const Weights& weights);

  // last_hidden_state: [T, D]. Returns logits, [B, C], or [T, C] when labels_tokens().
  at::Tensor Forward(const at::Tensor& last_hidden_state, const RaggedBatch& batch) const;

  bool labels_tokens() const { return pooling_ == Pooling::kTokens; }

 private:
  at::Tensor Logits(const at::Tensor& x) const;

  Pooling pooling_ = Pooling::kFirst;
  Linear dense_;  // weight undefined: none
  Activation activation_ = nullptr;
  Norm norm_;
  Linear classifier_;
};

// Logits through the head's activation, over the last dimension.
at::Tensor Scores(const at::Tensor& logits, ScoreFunction function);

}  // namespace heed
