#include "client/client.h"

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <utility>

#include "absl/random/random.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/client_internal.h"
#include "client/rpc_error.h"

namespace heed {
namespace {

// A server that names no real delay must not be asked in a tight loop.
constexpr absl::Duration kMinRetryDelay = absl::Milliseconds(10);
// A call is kept for a retry only if its request fits; requests are at most a few MiB.
constexpr int kRetryBufferBytes = 16 << 20;

bool IsUri(absl::string_view target) {
  return absl::StrContains(target, "://") || absl::StartsWith(target, "unix:") ||
         absl::StartsWith(target, "dns:") || absl::StartsWith(target, "ipv4:") ||
         absl::StartsWith(target, "ipv6:");
}

absl::Status CheckTarget(absl::string_view target) {
  if (IsUri(target)) return absl::OkStatus();
  const size_t colon = target.rfind(':');
  uint32_t port = 0;
  if (colon == absl::string_view::npos || colon == 0 ||
      !absl::SimpleAtoi(target.substr(colon + 1), &port) || port == 0 || port > 65535) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", target, "\" is not a server address: HOST:PORT is wanted"));
  }
  return absl::OkStatus();
}

// gRPC drops a config that does not parse and goes on without retries; here it is an error.
absl::Status CheckServiceConfig(const std::string& json) {
  google::protobuf::Struct config;
  const auto parsed = google::protobuf::util::JsonStringToMessage(json, &config);
  if (parsed.ok()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the service config is not a JSON object: ", std::string(parsed.message())));
}

// A proxy of the environment is for other machines.
bool IsLoopback(absl::string_view target) {
  return absl::StartsWith(target, "127.") || absl::StartsWith(target, "localhost:") ||
         absl::StartsWith(target, "[::1]:") || absl::StartsWith(target, "unix:");
}

grpc::ChannelArguments MakeChannelArguments(const std::string& target,
                                            const ClientOptions& options) {
  grpc::ChannelArguments args;
  args.SetServiceConfigJSON(options.service_config_json);
  args.SetUserAgentPrefix(options.user_agent);
  args.SetMaxReceiveMessageSize(options.max_response_bytes);
  args.SetMaxSendMessageSize(-1);
  args.SetInt(GRPC_ARG_PER_RPC_RETRY_BUFFER_SIZE, kRetryBufferBytes);
  // A dead peer is found within 40 s, also behind a NAT that forgot the connection.
  args.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 30'000);
  args.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  // A server that restarts is found again soon.
  args.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 200);
  args.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 200);
  args.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 5'000);
  if (IsLoopback(target)) args.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return args;
}

}  // namespace

std::optional<absl::Duration> internal::RetryWait(const absl::Status& status, absl::Duration left) {
  if (status.code() != absl::StatusCode::kResourceExhausted) return std::nullopt;
  const std::optional<absl::Duration> asked = GetRpcErrorDetails(status).retry_delay;
  if (!asked.has_value()) return std::nullopt;
  const absl::Duration delay = std::max(*asked, kMinRetryDelay);
  if (delay >= left) return std::nullopt;
  // Clients that were turned away together must not come back together.
  thread_local absl::BitGen random;
  return std::min(delay * absl::Uniform(random, 1.0, 1.2), left);
}

absl::StatusOr<std::unique_ptr<Client>> Client::Create(const std::string& target,
                                                       const ClientOptions& options) {
  if (absl::Status status = CheckTarget(target); !status.ok()) return status;
  if (options.deadline <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError(absl::StrCat("the deadline must be positive, not ",
                                                   absl::FormatDuration(options.deadline)));
  }
  if (absl::Status status = CheckServiceConfig(options.service_config_json); !status.ok()) {
    return status;
  }
  ClientOptions complete = options;
  if (!complete.now) complete.now = [] { return absl::Now(); };
  if (!complete.sleep) complete.sleep = [](absl::Duration wait) { absl::SleepFor(wait); };
  if (!complete.credentials) complete.credentials = grpc::InsecureChannelCredentials();
  return std::unique_ptr<Client>(new Client(target, std::move(complete)));
}

Client::Client(std::string target, ClientOptions options)
    : target_(std::move(target)),
      options_(std::move(options)),
      stubs_(std::make_unique<Stubs>(grpc::CreateCustomChannel(
          target_, options_.credentials, MakeChannelArguments(target_, options_)))) {}

Client::~Client() = default;

absl::StatusOr<v1::ClassifyResponse> Client::Classify(const v1::ClassifyRequest& request,
                                                      const CallOptions& options) const {
  return Call<v1::ClassifyResponse>(options, [&](auto* context, auto* response) {
    return stubs_->classification->Classify(context, request, response);
  });
}

absl::StatusOr<v1::ListModelsResponse> Client::ListModels(const CallOptions& options) const {
  return Call<v1::ListModelsResponse>(options, [&](auto* context, auto* response) {
    return stubs_->model->ListModels(context, v1::ListModelsRequest(), response);
  });
}

absl::StatusOr<v1::GetModelResponse> Client::GetModel(const v1::GetModelRequest& request,
                                                      const CallOptions& options) const {
  return Call<v1::GetModelResponse>(options, [&](auto* context, auto* response) {
    return stubs_->model->GetModel(context, request, response);
  });
}

absl::StatusOr<v1::TokenizeResponse> Client::Tokenize(const v1::TokenizeRequest& request,
                                                      const CallOptions& options) const {
  return Call<v1::TokenizeResponse>(options, [&](auto* context, auto* response) {
    return stubs_->model->Tokenize(context, request, response);
  });
}

absl::StatusOr<grpc::health::v1::HealthCheckResponse> Client::CheckHealth(
    const std::string& service, const CallOptions& options) const {
  grpc::health::v1::HealthCheckRequest request;
  request.set_service(service);
  return Call<grpc::health::v1::HealthCheckResponse>(options, [&](auto* context, auto* response) {
    return stubs_->health->Check(context, request, response);
  });
}

}  // namespace heed
