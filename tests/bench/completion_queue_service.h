// The same handlers behind gRPC's completion-queue API: the rival of CallbackService, kept to
// measure it.
#pragma once

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "grpcpp/impl/codegen/service_type.h"
#include "grpcpp/server.h"
#include "server/service_call.h"

namespace heed {

// One unary method on its own server.
class CompletionQueueServer {
 public:
  // Listens on a free port of 127.0.0.1 and serves `method` on `thread_count` queues.
  CompletionQueueServer(const ServiceContext& context, const std::string& method, Handler handler,
                        int thread_count);
  ~CompletionQueueServer();

  const std::string& address() const { return address_; }

 private:
  class Service;
  class Slot;

  std::unique_ptr<Service> service_;
  std::vector<std::unique_ptr<grpc::ServerCompletionQueue>> queues_;
  std::string address_;
  std::unique_ptr<grpc::Server> server_;
  std::vector<std::thread> threads_;
};

}  // namespace heed
