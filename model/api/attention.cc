#include "model/api/attention.h"

#include "model/api/error.h"

namespace heed {

absl::Status NoPositionSimilarity() {
  return MakeError(absl::StatusCode::kFailedPrecondition, "NO_POSITION_SIMILARITY",
                   "the model has no positional encoding that could be compared without a text");
}

}  // namespace heed
