#include "model/encoder/embeddings.h"

#include <ATen/ops/embedding.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/where.h>

namespace heed {
namespace {

at::Tensor View(const std::vector<int64_t>& values) {
  return at::from_blob(const_cast<int64_t*>(values.data()), {static_cast<int64_t>(values.size())},
                       at::TensorOptions(at::kLong));
}

}  // namespace

Embeddings::Embeddings(const ModelConfig& config, const Weights& weights,
                       std::vector<std::shared_ptr<const PositionalEncoding>> encodings)
    : word_(weights.Get("embeddings.word")),
      hidden_tokens_are_zero_(config.hidden_tokens_are_zero),
      scale_(config.embedding_scale),
      encodings_(std::move(encodings)) {
  if (config.segment_count > 0) segment_ = weights.Get("embeddings.segment");
  reads_segments_ = config.segment_count > 0 && config.reads_segments;
  if (config.has_task_embedding) task_ = weights.Get("embeddings.task").narrow(0, 0, 1);
  if (config.embedding_norm) {
    norm_ = weights.GetNorm("embeddings.norm", config.norm, config.norm_eps);
  }
  if (weights.Has("embeddings.projection.weight")) {
    projection_ = weights.GetLinear("embeddings.projection");
  }
}

at::Tensor Embeddings::Forward(const RaggedBatch& batch, const TokenPositions& tokens) const {
  at::Tensor x = at::embedding(word_, View(batch.ids));
  if (scale_ != 1) x.mul_(scale_);
  if (reads_segments_) {
    x.add_(at::embedding(segment_, View(batch.segments)));
  } else if (segment_.defined()) {
    x.add_(segment_.narrow(0, 0, 1));
  }
  if (task_.defined()) x.add_(task_);
  for (const auto& encoding : encodings_) {
    // It may work in place.
    const at::Tensor before = tokens.disabled.defined() ? x.clone() : at::Tensor();
    x = encoding->AddToEmbeddings(std::move(x), tokens);
    if (before.defined()) x = at::where(tokens.disabled.unsqueeze(1), before, x);
  }
  x = norm_(x);
  if (hidden_tokens_are_zero_ && !batch.key_mask.empty()) {
    const at::Tensor seen = at::from_blob(const_cast<uint8_t*>(batch.key_mask.data()),
                                          {x.size(0), 1}, at::TensorOptions(at::kByte));
    x = x.mul(seen.to(at::kFloat));
  }
  return projection_.weight.defined() ? projection_(x) : x;
}

}  // namespace heed
