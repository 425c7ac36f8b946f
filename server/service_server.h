// The gRPC server around the handlers: address, health, reflection, keepalive, shutdown.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "grpcpp/server.h"
#include "server/service_call.h"
#include "server/service_transport.h"

namespace heed {

struct RpcServerOptions {
  std::string listen = "127.0.0.1:0";
};

class RpcServer {
 public:
  // Binds and starts; health says NOT_SERVING. UNAVAILABLE when the address cannot be bound, for
  // instance because another process has it.
  static absl::StatusOr<std::unique_ptr<RpcServer>> Start(const RpcServerOptions& options,
                                                          const ServiceContext& context);
  // Shuts down at once.
  ~RpcServer();

  // HOST:PORT, with the port that was bound.
  const std::string& address() const { return address_; }

  // What grpc.health.v1 answers for "", "readiness" and each service with a handler. "liveness"
  // is SERVING as long as the server runs.
  void SetHealth(bool serving);

  // Stops listening, gives calls until `grace` from now, then cancels them. Blocks until all are
  // gone.
  void Shutdown(absl::Duration grace);

 private:
  RpcServer() = default;

  std::vector<std::unique_ptr<CallbackService>> services_;
  std::unique_ptr<UnknownMethods> unknown_methods_;
  std::vector<std::string> health_names_;
  std::string address_;
  std::unique_ptr<grpc::Server> server_;  // last: destroyed before what it calls
};

}  // namespace heed
