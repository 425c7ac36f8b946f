// Self-attention over a ragged batch: the only part of a model in which one token sees another.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace heed {

// Which tokens belong together, and which of them may be attended to.
struct AttentionLayout {
  // [B+1]; text b holds tokens cu_seqlens[b] … cu_seqlens[b+1]-1.
  const std::vector<int64_t>& cu_seqlens;
  // [T], 0 hides a token as a key; empty: all are seen.
  const std::vector<uint8_t>& key_mask;
};

// Scaled dot-product attention, softmax(q kᵀ / sqrt(Dh)) v, within each text.
// Source: Vaswani et al., 2017, arXiv:1706.03762, equation 1.
// qkv: [T, 3, H, Dh], queries, keys and values side by side. Returns the context, [T, H, Dh]. A
// text whose keys are all hidden gets zeros.
at::Tensor Attend(const at::Tensor& qkv, const AttentionLayout& layout);

}  // namespace heed
