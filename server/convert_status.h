// Errors on the wire: absl::Status, with the parts MakeError gave it, as a gRPC status with
// google.rpc details.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "google/rpc/status.pb.h"
#include "grpcpp/support/status.h"

namespace heed {

// At most this many field violations travel with one error.
inline constexpr size_t kMaxViolations = 16;

// Details of an error: exactly one ErrorInfo (domain "heed.dev"; the canonical code's name where
// no reason was given); BadRequest with INVALID_ARGUMENT; RetryInfo with RESOURCE_EXHAUSTED and
// UNAVAILABLE, from the metadata "retryDelay" or 1 s. Long texts are cut, since a client takes
// only 8 KiB of trailing metadata.
google::rpc::Status ToRpcStatus(const absl::Status& status);
grpc::Status ToGrpcStatus(const absl::Status& status);

// One error for several wrong fields: the code, reason and message of the first, and a violation
// for each. `errors` has at least one; those beyond kMaxViolations are not named.
absl::Status CombineErrors(const std::vector<absl::Status>& errors);

}  // namespace heed
