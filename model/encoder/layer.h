// One encoder layer: self-attention, then a feed-forward network on each token.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "model/attention/attention.h"
#include "model/checkpoint/model_config.h"
#include "model/encoder/feed_forward.h"
#include "model/encoder/linear.h"
#include "model/encoder/weights.h"

namespace heed {

// The weights of a layer. Several layers may run with one set (ALBERT).
// Post-norm: x = N(x + Attention(x)); x = N(x + FFN(x)) (Vaswani et al., 2017, arXiv:1706.03762,
// section 3.1). Pre-norm: x = x + Attention(N(x)); x = x + FFN(N(x)) (Xiong et al., 2020,
// arXiv:2002.04745, section 3).
class EncoderLayer {
 public:
  // The layer made of the roles "layers.<source>.…". UNIMPLEMENTED for an unknown activation.
  static absl::StatusOr<EncoderLayer> Create(const ModelConfig& config, const Weights& weights,
                                             int64_t source);

  // x: [T, D]. Returns [T, D].
  at::Tensor Forward(const at::Tensor& x, const AttentionSettings& settings,
                     const AttentionLayout& layout, AttentionRecorder* recorder) const;

 private:
  QueryKeyValue Project(const Linear& linear, const at::Tensor& x) const;

  bool pre_norm_ = false;
  int64_t head_count_ = 0;
  int64_t key_value_head_count_ = 0;
  int64_t head_size_ = 0;
  // One product: rows of the queries, then keys, then values; [(H + 2 Hkv) Dh, D].
  Linear query_key_value_;
  // The same for global queries and all that they attend to (Longformer).
  std::optional<Linear> global_query_key_value_;
  Linear attention_output_;
  Norm attention_norm_;
  FeedForward feed_forward_;
  Norm output_norm_;
};

}  // namespace heed
