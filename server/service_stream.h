// Sends a stream of messages as its reader takes them: the next one is made while one is on its
// way, and no earlier, so that a slow reader holds up neither a thread nor more memory than two
// large messages or half a MiB of small ones.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "grpcpp/support/byte_buffer.h"
#include "server/service_call.h"

namespace heed {

struct MessageStreamOptions {
  // Makes the next message; nothing: the last was made. Runs on the pool, never twice at once, and
  // is destroyed, with all it holds, before the call ends.
  std::function<absl::StatusOr<std::optional<grpc::ByteBuffer>>()> produce;
  // How long a message may take to leave; then the call ends with ABORTED READER_STALLED.
  absl::Duration stall_timeout = absl::InfiniteDuration();
  // How the stream ended; before the call does. May be empty.
  std::function<void(const absl::Status&)> ended;
};

// Starts to send on `call`, which is server-streaming, and answers it. `ended` gets OK, CANCELLED
// when the client went away (DEADLINE_EXCEEDED after its deadline), ABORTED, or what `produce`
// failed with. `context` needs timers and a pool.
void SendStream(const ServiceContext& context, std::shared_ptr<Call> call,
                MessageStreamOptions options);

}  // namespace heed
