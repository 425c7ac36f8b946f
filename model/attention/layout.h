// What attention has to know of a ragged batch, worked out once a batch and shared by all layers:
// which texts can be computed together, where their tokens stand, what is hidden.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "model/api/batch.h"
#include "model/positional/encoding.h"

namespace heed {

// Neighbouring texts of one length that have positions, context length and masks in common, so that
// one call computes them all.
struct TextGroup {
  int64_t first_text = 0;
  int64_t text_count = 0;
  int64_t first_token = 0;
  int64_t length = 0;            // tokens of each text
  int64_t context_length = 0;    // of each text
  int64_t rule_length = 0;       // TokenPositions::lengths of each text
  at::Tensor positions;          // [length] int64
  bool contiguous = false;       // positions are a run p, p+1, …
  at::Tensor segments;           // [text_count, length] int64
  at::Tensor key_mask;           // [length] bool; undefined: every key is seen
  bool has_positions = true;     // false: computed as if the model had no positional encoding
  bool has_globals = false;      // the caller chose the global tokens
  std::vector<int64_t> globals;  // ascending; read only with has_globals
};

struct AttentionLayout {
  TokenPositions tokens;
  std::vector<TextGroup> groups;

  // `batch` must be well formed (Encoder::Check) and outlive the layout.
  explicit AttentionLayout(const RaggedBatch& batch);
};

}  // namespace heed
