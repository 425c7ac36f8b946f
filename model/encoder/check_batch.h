// Whether a batch can be computed at all: checked before any tensor is made of it.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "model/api/batch.h"
#include "model/api/runner.h"

namespace heed {

// Every error here is INVALID_ARGUMENT: BAD_BATCH where parts of the batch disagree, OUT_OF_RANGE
// (metadata value, limit) otherwise.

// cu_seqlens, and that every array has the length it should.
absl::Status CheckBatchShape(const RaggedBatch& batch);
// Every value in [0, limit).
absl::Status CheckRange(const std::vector<int64_t>& values, int64_t limit, absl::string_view what);
// No text longer than max_tokens; 0: any.
absl::Status CheckLengths(const RaggedBatch& batch, int64_t max_tokens);
// A layer, text, heads and rows that there are.
absl::Status CheckRequest(const AttentionRequest& request, const RaggedBatch& batch,
                          int64_t layer_count, int64_t head_count);
// The error for a `value` outside [0, limit).
absl::Status OutOfRange(absl::string_view what, int64_t value, int64_t limit);

}  // namespace heed
