// Collects what a caller asked of attention while it is computed, and nothing else: weights are
// copied out of the kernel's tiles, never computed twice; queries and keys are kept where the
// weights are to be read later.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "model/api/batch.h"
#include "model/api/runner.h"
#include "model/attention/lazy_layer.h"
#include "model/attention/pattern.h"
#include "model/attention/tile_scores.h"

namespace heed {

class AttentionRecorder {
 public:
  // Requests must be in range for `batch` (CheckRequest).
  AttentionRecorder(const std::vector<AttentionRequest>& requests, const RaggedBatch& batch,
                    int64_t head_count);

  // Keeps queries and keys of request.layer and text, for rows of its heads. Returns a handle.
  size_t Keep(const AttentionRequest& request);

  // Whether anything is wanted of that layer.
  bool Wants(int64_t layer) const;

  // Takes what the requests want of one tile. weights: [B, H, m, n] for texts first_text … of the
  // tile.
  void Record(int64_t layer, int64_t first_text, const PatternTile& tile,
              const at::Tensor& weights);

  // Takes what is to be kept of texts first_text ….
  void Record(const AttentionSettings& settings, int64_t first_text, const TextTensors& texts);

  // The maps of the first `count` requests, in their order.
  std::vector<AttentionMap> Take(size_t count) const;
  // Of all requests.
  std::vector<AttentionMap> Take() const { return Take(slots_.size()); }
  // The map of one request as it is, [heads, rows, keys].
  at::Tensor map(size_t request) const { return slots_[request].map; }
  // What Keep's handle stands for.
  LazyLayer TakeKept(size_t handle) { return std::move(kept_[handle].layer); }

 private:
  struct Slot {
    AttentionRequest request;
    std::vector<int64_t> heads;
    bool all_heads = false;  // and in the model's order
    at::Tensor map;
  };
  struct Kept {
    AttentionRequest request;
    LazyLayer layer;
  };

  const RaggedBatch& batch_;
  const int64_t head_count_;
  std::vector<Slot> slots_;
  std::vector<Kept> kept_;
};

// `request` with every head named and the end of its rows a number.
AttentionRequest Spelled(AttentionRequest request, int64_t head_count, int64_t length);

}  // namespace heed
