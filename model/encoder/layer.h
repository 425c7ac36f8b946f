// One encoder layer: self-attention, then a feed-forward network on each token.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "model/attention/attention.h"
#include "model/encoder/linear.h"

namespace heed {

// Post-norm layer, x = LN(x + Attention(x)); x = LN(x + FFN(x)).
// Source: Vaswani et al., 2017, arXiv:1706.03762, section 3.1, as BERT uses it.
struct EncoderLayer {
  int64_t head_count = 0;
  Linear query_key_value;  // one product: rows 0..D-1 query, then key, then value; [3D, D]
  Linear attention_output;
  LayerNorm attention_norm;
  Linear intermediate;
  Activation activation = nullptr;
  Linear output;
  LayerNorm output_norm;

  // x: [T, D]. Returns [T, D].
  at::Tensor Forward(const at::Tensor& x, const AttentionLayout& layout) const;
};

}  // namespace heed
