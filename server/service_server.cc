#include "server/service_server.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "google/protobuf/message.h"
#include "grpc/health/v1/health.pb.h"
#include "grpcpp/ext/proto_server_reflection_plugin.h"
#include "grpcpp/health_check_service_interface.h"
#include "grpcpp/server_builder.h"
#include "model/api/error.h"
#include "server/service_handlers.h"

namespace heed {
namespace {

// Clients may ping every 10 s; half of that leaves room for clocks and networks that jitter.
constexpr int kShortestPingIntervalMs = 5000;

void EnableHealthAndReflection() {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  // gRPC's own health service has no descriptor; reflection finds ours once it is linked in.
  google::protobuf::LinkMessageReflection<grpc::health::v1::HealthCheckRequest>();
  grpc::health::v1::HealthCheckRequest::descriptor();
}

// gRPC refuses without details what is too large for it; what is a little too large for us is read,
// so that the answer can name the limit.
void SetChannelArguments(const RequestLimits& limits, grpc::ServerBuilder& builder) {
  constexpr size_t kMost = std::numeric_limits<int>::max();
  builder.SetMaxReceiveMessageSize(static_cast<int>(std::min(kMost, 2 * limits.max_message_bytes)));
  // Of each stream, for messages that may leave together with the next.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_WRITE_BUFFER_SIZE, 512 << 10);
  // Two servers on one port would share its connections silently.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             kShortestPingIntervalMs);
}

}  // namespace

absl::StatusOr<std::unique_ptr<RpcServer>> RpcServer::Start(const RpcServerOptions& options,
                                                            const ServiceContext& context) {
  EnableHealthAndReflection();
  std::unique_ptr<RpcServer> server(new RpcServer);
  const HandlerMap handlers = MakeHandlers(context);
  grpc::ServerBuilder builder;
  SetChannelArguments(context.limits, builder);
  server->health_names_ = {"", "readiness"};
  for (const auto* descriptor : ServiceDescriptors()) {
    server->services_.push_back(std::make_unique<CallbackService>(*descriptor, context, handlers));
    builder.RegisterService(server->services_.back().get());
    const std::string prefix = absl::StrCat("/", descriptor->full_name(), "/");
    for (const auto& [path, handler] : handlers) {
      if (!absl::StartsWith(path, prefix)) continue;
      server->health_names_.push_back(descriptor->full_name());
      break;
    }
  }
  server->unknown_methods_ = std::make_unique<UnknownMethods>(context);
  builder.RegisterCallbackGenericService(server->unknown_methods_.get());
  int port = 0;
  builder.AddListeningPort(options.listen, grpc::InsecureServerCredentials(), &port);
  server->server_ = builder.BuildAndStart();
  if (server->server_ == nullptr || port == 0) {
    return MakeError(absl::StatusCode::kUnavailable, "CANNOT_LISTEN",
                     absl::StrCat("cannot listen on ", options.listen,
                                  ": the address is in use or not one of this machine"),
                     {{"address", options.listen}});
  }
  server->address_ = absl::StrCat(options.listen.substr(0, options.listen.rfind(':')), ":", port);
  server->SetHealth(false);
  server->server_->GetHealthCheckService()->SetServingStatus("liveness", true);
  return server;
}

RpcServer::~RpcServer() {
  if (server_ != nullptr) Shutdown(absl::ZeroDuration());
}

void RpcServer::SetHealth(bool serving) {
  for (const std::string& name : health_names_) {
    server_->GetHealthCheckService()->SetServingStatus(name, serving);
  }
}

void RpcServer::Shutdown(absl::Duration grace) {
  server_->Shutdown(std::chrono::system_clock::now() + absl::ToChronoNanoseconds(grace));
  server_->Wait();
}

}  // namespace heed
