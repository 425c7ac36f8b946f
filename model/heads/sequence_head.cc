#include "model/heads/sequence_head.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tanh.h>

namespace heed {
namespace {

// The row of each text's first token. Returns [B, D].
at::Tensor FirstTokens(const at::Tensor& x, const RaggedBatch& batch) {
  const at::Tensor first =
      at::from_blob(const_cast<int64_t*>(batch.cu_seqlens.data()),
                    {static_cast<int64_t>(batch.text_count())}, at::TensorOptions(at::kLong));
  return x.index_select(0, first);
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

SequenceHead::SequenceHead(const ModelConfig& config, const Weights& weights)
    : classifier_(weights.GetLinear("classifier")) {
  if (config.pooling == Pooling::kBertPooler) pooler_ = weights.GetLinear("pooler");
}

at::Tensor SequenceHead::Forward(const at::Tensor& last_hidden_state,
                                 const RaggedBatch& batch) const {
  if (!pooler_.has_value()) return classifier_(MeanPool(last_hidden_state, batch));
  return classifier_((*pooler_)(FirstTokens(last_hidden_state, batch)).tanh_());
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
