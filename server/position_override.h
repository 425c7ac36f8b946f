// Positions that a caller gives in place of 0 … n-1.
#pragma once

#include "absl/status/status.h"
#include "heed/v1/common.pb.h"
#include "model/api/batch.h"
#include "model/api/model_info.h"

namespace heed {

// Applies the override to a text. INVALID_ARGUMENT inside "position_override":
// POSITION_OUT_OF_RANGE, POSITION_COUNT.
absl::Status ApplyPositionOverride(const v1::PositionOverride& change, const ModelInfo& info,
                                   TokenIds& text);

}  // namespace heed
