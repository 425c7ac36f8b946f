// Bytes from the network to a message. protobuf refuses a message with a string that is not UTF-8
// but does not say which; a client deserves to know.
#pragma once

#include "absl/status/status.h"
#include "google/protobuf/message.h"
#include "grpcpp/support/byte_buffer.h"

namespace heed {

// Parses `buffer` into `message`. Errors, both INVALID_ARGUMENT: INVALID_UTF8 naming every string
// field at fault (as many as CombineErrors takes), MALFORMED_REQUEST.
absl::Status Decode(grpc::ByteBuffer& buffer, google::protobuf::Message& message);

// `message` as bytes to send.
grpc::ByteBuffer Encode(const google::protobuf::Message& message);

}  // namespace heed
