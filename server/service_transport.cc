#include "server/service_transport.h"

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "grpc/grpc.h"
#include "grpcpp/impl/codegen/server_callback_handlers.h"
#include "heed/v1/attention.pb.h"
#include "heed/v1/classification.pb.h"
#include "heed/v1/model.pb.h"
#include "heed/v1/probe.pb.h"
#include "server/convert_status.h"

namespace heed {
namespace {

using google::protobuf::MethodDescriptor;
using google::protobuf::ServiceDescriptor;
using grpc::ByteBuffer;
using grpc::CallbackServerContext;
using grpc::internal::RpcMethod;

RpcMethod::RpcType TypeOf(const MethodDescriptor& method) {
  if (method.client_streaming()) {
    return method.server_streaming() ? RpcMethod::BIDI_STREAMING : RpcMethod::CLIENT_STREAMING;
  }
  return method.server_streaming() ? RpcMethod::SERVER_STREAMING : RpcMethod::NORMAL_RPC;
}

// Lives from the call's arrival until gRPC is done with it.
class UnaryReactor : public grpc::ServerUnaryReactor {
 public:
  UnaryReactor(std::shared_ptr<CancelToken> cancel, ByteBuffer* response)
      : cancel_(std::move(cancel)), response_(response) {}

  // After this the reactor may be gone.
  void Answer(const absl::Status& status, ByteBuffer body) {
    if (status.ok()) response_->Swap(&body);
    Finish(ToGrpcStatus(status));
  }

  void OnCancel() override { cancel_->Cancel(); }
  void OnDone() override { delete this; }

 private:
  const std::shared_ptr<CancelToken> cancel_;
  ByteBuffer* const response_;
};

// Well below what SetChannelArguments lets a stream queue.
constexpr size_t kSmallMessage = size_t{256} << 10;

// The same for a stream of replies.
class StreamReactor : public grpc::ServerWriteReactor<ByteBuffer> {
 public:
  explicit StreamReactor(std::shared_ptr<CancelToken> cancel) : cancel_(std::move(cancel)) {}

  void Send(ByteBuffer message, std::function<void(bool)> written) {
    message_ = std::move(message);
    written_ = std::move(written);
    // Small messages leave together, as soon as they fill a buffer or the stream ends; but a reader
    // gets the first at once.
    grpc::WriteOptions options;
    if (sent_any_ && message_.Length() < kSmallMessage) options.set_buffer_hint();
    sent_any_ = true;
    StartWrite(&message_, options);
  }

  // After this the reactor may be gone.
  void Answer(const absl::Status& status) { Finish(ToGrpcStatus(status)); }

  void OnWriteDone(bool ok) override {
    message_.Clear();
    // Moved, since it may start the next write.
    const std::function<void(bool)> written = std::move(written_);
    written(ok);
  }
  void OnCancel() override { cancel_->Cancel(); }
  void OnDone() override { delete this; }

 private:
  const std::shared_ptr<CancelToken> cancel_;
  bool sent_any_ = false;
  ByteBuffer message_;
  std::function<void(bool)> written_;
};

// A status waits in line behind a message that flow control holds back. Cancelling with a status
// passes the line: its frame carries no data. There is no room for details in it.
std::function<void(const absl::Status&)> Aborter(CallbackServerContext& server_context) {
  grpc_call* const call = server_context.c_call();
  grpc_call_ref(call);  // the one who aborts may come after the end
  return [shared = std::shared_ptr<grpc_call>(call, grpc_call_unref)](const absl::Status& status) {
    const std::string message(status.message());
    grpc_call_cancel_with_status(shared.get(), static_cast<grpc_status_code>(status.code()),
                                 message.c_str(), nullptr);
  };
}

// Ends a call of any shape at once, without reading what the client sends.
template <typename Reactor>
class Refusal : public Reactor {
 public:
  explicit Refusal(const absl::Status& status) { this->Finish(ToGrpcStatus(status)); }
  void OnDone() override { delete this; }
};

absl::Status CountedRefusal(const ServiceContext& context, const std::string& path) {
  const absl::Status status = UnimplementedMethod(path);
  context.metrics->CountRequest(path, status.code(), absl::ZeroDuration());
  return status;
}

}  // namespace

std::vector<const ServiceDescriptor*> ServiceDescriptors() {
  return {v1::ClassifyRequest::descriptor()->file()->FindServiceByName("ClassificationService"),
          v1::GetAttentionRequest::descriptor()->file()->FindServiceByName("AttentionService"),
          v1::ProbeMaskingRequest::descriptor()->file()->FindServiceByName("ProbeService"),
          v1::GetModelRequest::descriptor()->file()->FindServiceByName("ModelService")};
}

std::string MethodPath(const MethodDescriptor& method) {
  return absl::StrCat("/", method.service()->full_name(), "/", method.name());
}

std::vector<std::string> MethodPaths() {
  std::vector<std::string> paths;
  for (const ServiceDescriptor* service : ServiceDescriptors()) {
    for (int i = 0; i < service->method_count(); ++i) {
      paths.push_back(MethodPath(*service->method(i)));
    }
  }
  return paths;
}

absl::Time DeadlineOf(std::chrono::system_clock::time_point deadline, const Clock& clock) {
  if (deadline == std::chrono::system_clock::time_point::max()) return absl::InfiniteFuture();
  // The remaining time is what the client asked for; the wall clock only carries it here.
  return clock.Now() + absl::FromChrono(deadline - std::chrono::system_clock::now());
}

CallbackService::CallbackService(const ServiceDescriptor& descriptor, const ServiceContext& context,
                                 const HandlerMap& handlers) {
  for (int i = 0; i < descriptor.method_count(); ++i) {
    const MethodDescriptor& method = *descriptor.method(i);
    const std::string& path = paths_.emplace_back(MethodPath(method));
    AddMethod(new grpc::internal::RpcServiceMethod(path.c_str(), TypeOf(method), nullptr));
    const auto found = handlers.find(path);
    const bool handled = found != handlers.end();
    if (handled && TypeOf(method) == RpcMethod::NORMAL_RPC) {
      AddUnary(i, context, found->second);
    } else if (handled && TypeOf(method) == RpcMethod::SERVER_STREAMING) {
      AddServerStreaming(i, context, found->second);
    } else {
      AddRefusal(i, method, context);
    }
  }
}

void CallbackService::AddUnary(int index, const ServiceContext& context, Handler handler) {
  const Clock* const clock = context.clock;
  MarkMethodRawCallback(
      index,
      new grpc::internal::CallbackUnaryHandler<ByteBuffer, ByteBuffer>(
          [clock, handler = std::move(handler)](CallbackServerContext* server_context,
                                                const ByteBuffer* request, ByteBuffer* response) {
            auto call = std::make_shared<Call>();
            auto* const reactor = new UnaryReactor(call->cancel, response);
            call->deadline = DeadlineOf(server_context->deadline(), *clock);
            call->request = *request;
            call->finish = [reactor](const absl::Status& status, ByteBuffer body) {
              reactor->Answer(status, std::move(body));
            };
            handler(std::move(call));
            return reactor;
          }));
}

void CallbackService::AddServerStreaming(int index, const ServiceContext& context,
                                         Handler handler) {
  const Clock* const clock = context.clock;
  MarkMethodRawCallback(
      index, new grpc::internal::CallbackServerStreamingHandler<ByteBuffer, ByteBuffer>(
                 [clock, handler = std::move(handler)](CallbackServerContext* server_context,
                                                       const ByteBuffer* request) {
                   auto call = std::make_shared<Call>();
                   auto* const reactor = new StreamReactor(call->cancel);
                   call->deadline = DeadlineOf(server_context->deadline(), *clock);
                   call->request = *request;
                   call->finish = [reactor](const absl::Status& status, ByteBuffer) {
                     reactor->Answer(status);
                   };
                   call->write = [reactor](ByteBuffer message, std::function<void(bool)> written) {
                     reactor->Send(std::move(message), std::move(written));
                   };
                   call->abort = Aborter(*server_context);
                   handler(std::move(call));
                   return reactor;
                 }));
}

void CallbackService::AddRefusal(int index, const MethodDescriptor& method,
                                 const ServiceContext& context) {
  const std::string path = MethodPath(method);
  const auto refuse = [context, path] { return CountedRefusal(context, path); };
  grpc::internal::MethodHandler* handler = nullptr;
  switch (TypeOf(method)) {
    case RpcMethod::NORMAL_RPC:
      handler = new grpc::internal::CallbackUnaryHandler<ByteBuffer, ByteBuffer>(
          [refuse](CallbackServerContext*, const ByteBuffer*, ByteBuffer*) {
            return new Refusal<grpc::ServerUnaryReactor>(refuse());
          });
      break;
    case RpcMethod::CLIENT_STREAMING:
      handler = new grpc::internal::CallbackClientStreamingHandler<ByteBuffer, ByteBuffer>(
          [refuse](CallbackServerContext*, ByteBuffer*) {
            return new Refusal<grpc::ServerReadReactor<ByteBuffer>>(refuse());
          });
      break;
    case RpcMethod::SERVER_STREAMING:
      handler = new grpc::internal::CallbackServerStreamingHandler<ByteBuffer, ByteBuffer>(
          [refuse](CallbackServerContext*, const ByteBuffer*) {
            return new Refusal<grpc::ServerWriteReactor<ByteBuffer>>(refuse());
          });
      break;
    case RpcMethod::BIDI_STREAMING:
      handler = new grpc::internal::CallbackBidiHandler<ByteBuffer, ByteBuffer>(
          [refuse](CallbackServerContext*) {
            return new Refusal<grpc::ServerBidiReactor<ByteBuffer, ByteBuffer>>(refuse());
          });
      break;
  }
  MarkMethodRawCallback(index, handler);
}

grpc::ServerGenericBidiReactor* UnknownMethods::CreateReactor(
    grpc::GenericCallbackServerContext* call) {
  return new Refusal<grpc::ServerGenericBidiReactor>(CountedRefusal(context_, call->method()));
}

}  // namespace heed
