// Collects the attention weights that a caller asked for while attention is computed, and nothing
// else: the kernel's tiles are copied out, never computed twice.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "model/api/batch.h"
#include "model/api/runner.h"
#include "model/attention/pattern.h"

namespace heed {

class AttentionRecorder {
 public:
  // Requests must be in range for `batch` (Encoder::Check).
  AttentionRecorder(const std::vector<AttentionRequest>& requests, const RaggedBatch& batch,
                    int64_t head_count);

  // Whether any request is for that layer.
  bool Wants(int64_t layer) const;

  // Takes what the requests want of one tile. weights: [B, H, m, n] for texts first_text … of the
  // tile.
  void Record(int64_t layer, int64_t first_text, const PatternTile& tile,
              const at::Tensor& weights);

  // The collected maps, in the order of the requests. Call once, at the end.
  std::vector<AttentionMap> Take();

 private:
  struct Slot {
    AttentionRequest request;
    std::vector<int64_t> heads;
    at::Tensor map;  // [heads, rows, keys]
  };

  std::vector<Slot> slots_;
};

}  // namespace heed
