// Positions that a request gives instead of the model's own.
#pragma once

#include <cstddef>

#include "absl/status/status.h"
#include "heed/v1/common.pb.h"
#include "model/api/batch.h"
#include "model/api/model_info.h"

namespace heed {

// What can be said before a text is tokenized. INVALID_ARGUMENT with a field below
// "position_override": POSITION_OUT_OF_RANGE (metadata value, limit), and SINGLE_INPUT_NEEDED for
// a list of positions with several inputs.
absl::Status CheckPositionOverride(const v1::PositionOverride& override, size_t input_count,
                                   const ModelInfo& info);

// Gives `input` the positions of `override`, which CheckPositionOverride let pass; one that is not
// set changes nothing. INVALID_ARGUMENT, with the same fields: POSITION_OUT_OF_RANGE, and
// POSITION_COUNT (metadata count, tokenCount) for a list that is not as long as the text.
absl::Status ApplyPositionOverride(const v1::PositionOverride& override, const ModelInfo& info,
                                   TokenIds& input);

}  // namespace heed
