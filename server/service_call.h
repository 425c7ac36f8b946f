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
#include "server/cancel_token.h"
#include "server/clock.h"
#include "server/lifecycle.h"
#include "server/metrics.h"
#include "server/served_model.h"
#include "server/thread_pool.h"

namespace heed {

class ByteBudget;
class TimerQueue;

struct RequestLimits {
  size_t max_texts = 4096;
  size_t max_text_bytes = size_t{2} << 20;
  size_t max_message_bytes = size_t{16} << 20;
  // Of the tile data of one GetAttention.
  size_t max_attention_bytes = size_t{256} << 20;
  // How long one message of a stream may take to leave.
  absl::Duration attention_stall_timeout = absl::Seconds(30);
};

// What handlers work with. All of it outlives the RPC server.
struct ServiceContext {
  Clock* clock = nullptr;
  Metrics* metrics = nullptr;
  Lifecycle* lifecycle = nullptr;
  const ModelRegistry* models = nullptr;
  ThreadPool* pool = nullptr;
  RequestLimits limits;
  // What calls may keep of attention between them. Null, as `timers`: GetAttention is not served,
  // nor is GetLayerProfile.
  ByteBudget* attention_memory = nullptr;
  TimerQueue* timers = nullptr;
};

struct Call {
  absl::Time deadline = absl::InfiniteFuture();  // by ServiceContext::clock
  std::shared_ptr<CancelToken> cancel = std::make_shared<CancelToken>();
  grpc::ByteBuffer request;
  // Answers the call. Exactly once, on any thread; a body counts only with OK, and only on unary
  // methods.
  std::function<void(const absl::Status&, grpc::ByteBuffer)> finish;
  // Server-streaming methods only. Sends one message; `written` runs on any thread once the
  // transport has taken it, with false if it could not be sent. One at a time, and `finish` only
  // with none under way.
  std::function<void(grpc::ByteBuffer, std::function<void(bool)> written)> write;
  // Server-streaming methods only. Tells the client the code and message of `status` past any
  // message that is stuck on its way, which then comes back as not written; `finish` is still due.
  std::function<void(const absl::Status&)> abort;

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
