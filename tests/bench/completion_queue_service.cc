#include "tests/bench/completion_queue_service.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "grpcpp/server_builder.h"
#include "grpcpp/support/async_unary_call.h"
#include "server/convert_status.h"
#include "server/service_transport.h"

namespace heed {
namespace {

// Calls that may arrive on one queue before the first of them is picked up.
constexpr int kSlotsPerQueue = 64;

}  // namespace

class CompletionQueueServer::Service : public grpc::Service {
 public:
  explicit Service(const std::string& method) : method_(method) {
    AddMethod(new grpc::internal::RpcServiceMethod(method_.c_str(),
                                                   grpc::internal::RpcMethod::NORMAL_RPC, nullptr));
    MarkMethodRaw(0);
  }

  using grpc::Service::RequestAsyncUnary;

 private:
  const std::string method_;
};

// One call after another; the tag of its queue.
class CompletionQueueServer::Slot {
 public:
  Slot(const ServiceContext& context, const Handler& handler, Service* service,
       grpc::ServerCompletionQueue* queue)
      : clock_(*context.clock), handler_(handler), service_(service), queue_(queue) {
    Request();
  }

  // A new call has come, or an answer has gone. False: the server shuts down.
  void Proceed(bool ok) {
    if (!ok && !busy_) {
      delete this;
      return;
    }
    if (busy_) return Request();
    busy_ = true;
    auto call = std::make_shared<Call>();
    call->deadline = DeadlineOf(server_context_->deadline(), clock_);
    call->request = std::move(request_);
    call->finish = [this](const absl::Status& status, grpc::ByteBuffer body) {
      if (status.ok()) {
        writer_->Finish(body, grpc::Status::OK, this);
      } else {
        writer_->FinishWithError(ToGrpcStatus(status), this);
      }
    };
    handler_(std::move(call));
  }

 private:
  void Request() {
    busy_ = false;
    request_.Clear();
    writer_.reset();
    server_context_ = std::make_unique<grpc::ServerContext>();
    writer_ =
        std::make_unique<grpc::ServerAsyncResponseWriter<grpc::ByteBuffer>>(server_context_.get());
    service_->RequestAsyncUnary(0, server_context_.get(), &request_, writer_.get(), queue_, queue_,
                                this);
  }

  const Clock& clock_;
  const Handler handler_;
  Service* const service_;
  grpc::ServerCompletionQueue* const queue_;
  bool busy_ = false;
  grpc::ByteBuffer request_;
  std::unique_ptr<grpc::ServerContext> server_context_;
  std::unique_ptr<grpc::ServerAsyncResponseWriter<grpc::ByteBuffer>> writer_;
};

CompletionQueueServer::CompletionQueueServer(const ServiceContext& context,
                                             const std::string& method, Handler handler,
                                             int thread_count)
    : service_(std::make_unique<Service>(method)) {
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(service_.get());
  for (int i = 0; i < thread_count; ++i) queues_.push_back(builder.AddCompletionQueue());
  server_ = builder.BuildAndStart();
  address_ = absl::StrCat("127.0.0.1:", port);
  for (const auto& queue : queues_) {
    for (int i = 0; i < kSlotsPerQueue; ++i) {
      new Slot(context, handler, service_.get(), queue.get());  // deletes itself at shutdown
    }
    threads_.emplace_back([queue = queue.get()] {
      void* tag = nullptr;
      bool ok = false;
      while (queue->Next(&tag, &ok)) static_cast<Slot*>(tag)->Proceed(ok);
    });
  }
}

CompletionQueueServer::~CompletionQueueServer() {
  server_->Shutdown();
  for (const auto& queue : queues_) queue->Shutdown();
  for (std::thread& thread : threads_) thread.join();
}

}  // namespace heed
