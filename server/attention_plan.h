// What one GetAttention call will send, worked out before anything is computed.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "heed/v1/attention.pb.h"
#include "model/api/attention.h"
#include "model/api/model_info.h"

namespace heed {

struct AttentionPlan {
  v1::AttentionReduction reduction = v1::ATTENTION_REDUCTION_UNSPECIFIED;
  v1::TensorType type = v1::TENSOR_TYPE_FLOAT32;
  int64_t token_count = 0;
  // Resolved, in the order wanted.
  std::vector<int64_t> layers;
  std::vector<int64_t> heads;
  std::vector<int64_t> rows;
  std::vector<int64_t> columns;
  int64_t top_k = 0;
  // [layers, heads, rows, columns] of what is sent.
  std::vector<int64_t> shape;
  uint64_t total_bytes = 0;
  // What the model is asked for; its text is not set.
  CaptureRequest capture;
  // What the call holds until its end, about.
  size_t memory_bytes = 0;

  bool through_layers() const {
    return reduction == v1::ATTENTION_REDUCTION_ROLLOUT ||
           reduction == v1::ATTENTION_REDUCTION_FLOW;
  }
  bool one_number_a_row() const {
    return reduction == v1::ATTENTION_REDUCTION_ENTROPY ||
           reduction == v1::ATTENTION_REDUCTION_MEAN_DISTANCE;
  }
  // Rows of a tile of at most 1 MiB.
  int64_t rows_per_tile() const;
};

// What needs no text: INVALID_ARGUMENT UNKNOWN_ENUM_VALUE, SELECTOR_NOT_SUPPORTED (key_columns or
// top_k with one number a row), INDEX_OUT_OF_RANGE; FAILED_PRECONDITION NO_ATTENTION.
absl::Status CheckAttentionRequest(const v1::GetAttentionRequest& request, const ModelInfo& info);

// The plan for a text of `token_count` tokens; CheckAttentionRequest was OK. Also INVALID_ARGUMENT
// ATTENTION_TOO_LARGE above `max_bytes`, TOO_MANY_TOKENS_FOR_FLOW, TOP_K_TOO_LARGE.
absl::StatusOr<AttentionPlan> PlanAttention(const v1::GetAttentionRequest& request,
                                            const ModelInfo& info, int64_t token_count,
                                            size_t max_bytes);

}  // namespace heed
