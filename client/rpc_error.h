// What a server said about a failed call: the google.rpc details behind a status, kept in
// absl::Status as payloads and readable as plain data.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace grpc {
class Status;
}  // namespace grpc

namespace heed {

struct FieldViolation {
  std::string field;  // path in the request, e.g. "inputs[3].text"
  std::string description;
};

// ErrorInfo, BadRequest and RetryInfo as plain data; what the server did not send stays empty.
struct RpcErrorDetails {
  std::string reason;  // UPPER_SNAKE, e.g. "TOO_MANY_TOKENS"
  std::string domain;
  std::map<std::string, std::string> metadata;
  std::vector<FieldViolation> field_violations;
  // How long the server asks to wait before the next try.
  std::optional<absl::Duration> retry_delay;
};

// The same code and message, every detail as a payload under its type URL.
absl::Status FromGrpcStatus(const grpc::Status& status);

// The details of a status made by FromGrpcStatus; all empty for any other.
RpcErrorDetails GetRpcErrorDetails(const absl::Status& status);

// "CODE: message", then a line "  field: description" for each violation that says more than the
// message, then "  retry after DURATION" where the server named one. No newline at the end.
std::string FormatError(const absl::Status& status);

// The same error for a call that was part of a larger one: "inputs[i]" becomes
// "inputs[i + offset]", in the message and in the details.
absl::Status ShiftInputIndexes(const absl::Status& status, size_t offset);

}  // namespace heed
