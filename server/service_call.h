// One RPC between transport and handler. Handlers see only this, so that the same handlers run
// behind any of gRPC's server APIs.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "grpcpp/support/byte_buffer.h"
#include "server/byte_budget.h"
#include "server/cancel_token.h"
#include "server/clock.h"
#include "server/lifecycle.h"
#include "server/metrics.h"
#include "server/served_model.h"
#include "server/thread_pool.h"

namespace heed {

// What calls for attention may use.
struct AttentionLimits {
  // Of one stream, on the wire.
  size_t max_bytes = size_t{256} << 20;
  // How long a message may wait for its reader.
  absl::Duration stall_timeout = absl::Seconds(30);
};

struct RequestLimits {
  size_t max_texts = 4096;
  size_t max_text_bytes = size_t{2} << 20;
  size_t max_message_bytes = size_t{16} << 20;
};

// What handlers work with. All of it outlives the RPC server.
struct ServiceContext {
  Clock* clock = nullptr;
  Metrics* metrics = nullptr;
  Lifecycle* lifecycle = nullptr;
  const ModelRegistry* models = nullptr;
  ThreadPool* pool = nullptr;
  RequestLimits limits;
  AttentionLimits attention;
  ByteBudget* attention_memory = nullptr;  // of all streams together
};

struct Call {
  absl::Time deadline = absl::InfiniteFuture();  // by ServiceContext::clock
  std::shared_ptr<CancelToken> cancel = std::make_shared<CancelToken>();
  grpc::ByteBuffer request;
  // Streaming methods only: sends one message, then calls back with whether the stream can go on;
  // on a thread of the transport, which must not be held up. One message at a time, and none after
  // `finish`, which must wait for the call back.
  std::function<void(grpc::ByteBuffer, std::function<void(bool)>)> write;
  // Answers the call. Exactly once, on any thread; a body counts only with OK.
  std::function<void(const absl::Status&, grpc::ByteBuffer)> finish;

  void Fail(const absl::Status& status) { finish(status, grpc::ByteBuffer()); }
};

// Starts to answer a call; may return before the answer is sent. Must not block.
using Handler = std::function<void(std::shared_ptr<Call>)>;

// By method, "/package.Service/Method".
using HandlerMap = std::map<std::string, Handler>;

// The one wrapper around every handler: lets the call in or refuses it (loading, draining, its
// deadline passed, its request too large), and times and counts it whatever its outcome.
Handler Instrumented(const ServiceContext& context, const std::string& method, Handler handler);

// Answers UNIMPLEMENTED, naming the method.
absl::Status UnimplementedMethod(const std::string& method);

}  // namespace heed
