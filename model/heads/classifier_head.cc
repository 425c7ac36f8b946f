#include "model/heads/classifier_head.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tensor.h>

namespace heed {
namespace {

// One row of each text: the first, or the last. Returns [B, D].
at::Tensor OneToken(const at::Tensor& x, const RaggedBatch& batch, bool last) {
  std::vector<int64_t> rows;
  for (size_t b = 0; b < batch.text_count(); ++b) {
    rows.push_back(last ? batch.cu_seqlens[b + 1] - 1 : batch.cu_seqlens[b]);
  }
  return x.index_select(0, at::tensor(rows, at::kLong));
}

}  // namespace

at::Tensor MeanPool(const at::Tensor& x, const RaggedBatch& batch) {
  const auto text_count = static_cast<int64_t>(batch.text_count());
  at::Tensor pooled = at::empty({text_count, x.size(1)}, x.options());
  for (int64_t b = 0; b < text_count; ++b) {
    const int64_t begin = batch.cu_seqlens[b];
    const int64_t end = batch.cu_seqlens[b + 1];
    at::Tensor rows = x.narrow(0, begin, end - begin);
    if (!batch.key_mask.empty()) {
      std::vector<int64_t> seen;
      for (int64_t i = begin; i < end; ++i) {
        if (batch.key_mask[i] != 0) seen.push_back(i - begin);
      }
      if (seen.empty()) {
        pooled[b].zero_();
        continue;
      }
      rows = rows.index_select(0, at::from_blob(seen.data(), {static_cast<int64_t>(seen.size())},
                                                at::TensorOptions(at::kLong)));
    }
    pooled[b].copy_(rows.mean(0));
  }
  return pooled;
}

absl::StatusOr<ClassifierHead> ClassifierHead::Create(const ModelConfig& config,
                                                      const Weights& weights) {
  ClassifierHead head;
  head.pooling_ = config.head.pooling;
  if (!config.head.dense.empty()) head.dense_ = weights.GetLinear("head.dense");
  absl::StatusOr<Activation> activation = FindActivation(config.head.dense_activation);
  if (!activation.ok()) return activation.status();
  head.activation_ = *activation;
  if (!config.head.norm.empty()) {
    head.norm_ = weights.GetNorm("head.norm", config.norm, config.norm_eps);
  }
  head.classifier_ = weights.GetLinear("classifier");
  return head;
}

at::Tensor ClassifierHead::Logits(const at::Tensor& x) const {
  return classifier_(norm_(dense_.weight.defined() ? activation_(dense_(x)) : x));
}

at::Tensor ClassifierHead::Forward(const at::Tensor& last_hidden_state,
                                   const RaggedBatch& batch) const {
  switch (pooling_) {
    case Pooling::kNone:
    case Pooling::kTokens:
      return Logits(last_hidden_state);
    case Pooling::kFirst:
    case Pooling::kLast:
      return Logits(OneToken(last_hidden_state, batch, pooling_ == Pooling::kLast));
    case Pooling::kMean:
      return Logits(MeanPool(last_hidden_state, batch));
    case Pooling::kLate:
      return MeanPool(Logits(last_hidden_state), batch);
  }
  return {};
}

at::Tensor Scores(const at::Tensor& logits, ScoreFunction function) {
  switch (function) {
    case ScoreFunction::kSoftmax:
      return logits.softmax(-1);
    case ScoreFunction::kSigmoid:
      return logits.sigmoid();
    case ScoreFunction::kIdentity:
      break;
  }
  return logits;
}

}  // namespace heed
