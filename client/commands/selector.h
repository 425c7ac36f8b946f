// How a command line names layers, heads, tokens and positions.
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "heed/v1/attention.pb.h"
#include "heed/v1/common.pb.h"

namespace heed::cli {

// "0,2,-1": these, negative ones from the end. "0:4" and ":4": 0 to 3; "-3:-1": the two before the
// last. What is named comes in the order written. INVALID_ARGUMENT, with a message for the user,
// for what is no such list; whether the model has the layer is for the server to say.
absl::StatusOr<v1::IndexSelector> ParseSelector(absl::string_view text);

// "off": no positional encoding; "+5": every position that much further; "0,1,5:8": one position a
// token. INVALID_ARGUMENT as above.
absl::StatusOr<v1::PositionOverride> ParsePositions(absl::string_view text);

}  // namespace heed::cli
