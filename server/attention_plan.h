// What a GetAttention request will send and keep, worked out before anything is computed, so that
// what is too large is refused for nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "heed/v1/attention.pb.h"
#include "model/api/attention.h"
#include "model/api/model_info.h"

namespace heed {

// Of a serialized GetAttentionResponse with a tile: every client reads this.
inline constexpr size_t kMaxTileBytes = size_t{1} << 20;
// Most tokens of a text for REDUCTION_FLOW, whose cost grows with their fourth power.
inline constexpr size_t kMaxFlowTokens = 64;

struct AttentionPlan {
  // Resolved selectors. Columns are empty where a reduction leaves one number a row.
  std::vector<int64_t> layers;
  std::vector<int64_t> heads;
  std::vector<int64_t> rows;
  std::vector<int64_t> columns;
  v1::AttentionReduction reduction = v1::ATTENTION_REDUCTION_UNSPECIFIED;
  v1::TensorType type = v1::TENSOR_TYPE_FLOAT32;
  size_t token_count = 0;
  // 0: whole rows.
  size_t top_k = 0;
  // As AttentionHeader's.
  std::array<int64_t, 4> shape{};
  uint64_t total_bytes = 0;
  // Most rows of a tile.
  size_t tile_rows = 0;
  // What the model is asked for.
  CaptureRequest capture;
  // About what the call keeps in memory, its capture above all.
  size_t memory_bytes = 0;

  bool one_number_a_row() const {
    return reduction == v1::ATTENTION_REDUCTION_ENTROPY ||
           reduction == v1::ATTENTION_REDUCTION_MEAN_DISTANCE;
  }
  // Whether one matrix is made of all layers.
  bool joins_layers() const {
    return reduction == v1::ATTENTION_REDUCTION_ROLLOUT ||
           reduction == v1::ATTENTION_REDUCTION_FLOW;
  }
  bool joins_heads() const {
    return joins_layers() || reduction == v1::ATTENTION_REDUCTION_MEAN_HEADS;
  }
};

// FAILED_PRECONDITION NO_ATTENTION, with `field` where a field asked for it.
absl::Status RequireAttention(const ModelInfo& info, absl::string_view field = "");

// What can be said before the text is tokenized: the model has attention, and the request's own
// parts go together. Errors: FAILED_PRECONDITION NO_ATTENTION, INVALID_ARGUMENT.
absl::Status CheckAttentionRequest(const v1::GetAttentionRequest& request, const ModelInfo& info);

// The plan for a text of `token_count` tokens; CheckAttentionRequest was OK. Errors, all
// INVALID_ARGUMENT: those of ResolveSelector, TOP_K_TOO_LARGE, TOO_MANY_TOKENS_FOR_FLOW, and
// ATTENTION_TOO_LARGE where the payload would pass `max_bytes`.
absl::StatusOr<AttentionPlan> PlanAttention(const v1::GetAttentionRequest& request,
                                            const ModelInfo& info, size_t token_count,
                                            size_t max_bytes);

}  // namespace heed
