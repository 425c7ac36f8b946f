// Errors that keep their parts: a canonical code, a reason a program can test, the dynamic values,
// and the request field at fault. absl::Status carries them as payloads, so that the model needs no
// protobuf and the server can turn each into google.rpc.ErrorInfo and BadRequest without parsing
// text.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace heed {

// What a failure consists of besides its code and message.
struct ErrorDetail {
  // UPPER_SNAKE, stable between versions, e.g. "TOO_MANY_TOKENS". Empty: none was given.
  std::string reason;
  // Path of the request field at fault, e.g. "inputs[3].text". Empty: no single field is.
  std::string field;
  // Every dynamic value of the message, by lowerCamelCase name, e.g. {"limit", "512"}.
  std::map<std::string, std::string> metadata;
};

// An error with its parts. `message` is a sentence for a person and repeats the values.
absl::Status MakeError(absl::StatusCode code, absl::string_view reason, absl::string_view message,
                       std::map<std::string, std::string> metadata = {},
                       absl::string_view field = "");

// The parts of `status`; all empty for a status not made here.
ErrorDetail GetErrorDetail(const absl::Status& status);

// The same error, its field now inside `prefix`: "text" in "inputs[3]" becomes "inputs[3].text".
// An error without a field gets `prefix` as its field. OK stays OK.
absl::Status InField(const absl::Status& status, absl::string_view prefix);

// The same error, `prefix` before its message. OK stays OK.
absl::Status WithMessagePrefix(const absl::Status& status, absl::string_view prefix);

}  // namespace heed
