// A client of Heed for C++ programs: one object per server, deadlines and retries by default, and
// errors that keep what the server said.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/attention_data.h"
#include "client/service_config.h"
#include "grpc/health/v1/health.pb.h"
#include "heed/v1/attention.pb.h"
#include "heed/v1/classification.pb.h"
#include "heed/v1/model.pb.h"
#include "heed/v1/probe.pb.h"

namespace grpc {
class ChannelCredentials;
class ClientContext;
class Status;
}  // namespace grpc

namespace heed {

struct ClientOptions {
  // Time for one call, retries and waits included.
  absl::Duration deadline = absl::Seconds(30);
  // Load balancing and the retries of UNAVAILABLE.
  std::string service_config_json = kServiceConfig;
  // Null: plain text, no TLS.
  std::shared_ptr<grpc::ChannelCredentials> credentials;
  // Put before gRPC's own user agent.
  std::string user_agent = "heed-client";
  // Responses larger than this fail with RESOURCE_EXHAUSTED.
  int max_response_bytes = 64 << 20;
  // Attention that takes more memory than this once it is decoded is refused when it is announced.
  uint64_t max_attention_bytes = uint64_t{4} << 30;
  // Time, for tests. Empty: the real clock.
  std::function<absl::Time()> now;
  std::function<void(absl::Duration)> sleep;
};

struct CallOptions {
  // Instead of ClientOptions::deadline.
  std::optional<absl::Duration> deadline;
};

// Hears how far a GetAttention is, on its thread: bytes of weights that came, of those announced.
using AttentionProgress = std::function<void(uint64_t received_bytes, uint64_t total_bytes)>;

// Thread-safe; calls from many threads share the connections. Making one does not connect.
//
// Every call fails with the server's code and message; GetRpcErrorDetails() gives the reason, field
// violations, metadata and retry delay. RESOURCE_EXHAUSTED with a RetryInfo is tried again after
// the delay that the server names, as long as the deadline allows it; UNAVAILABLE by the service
// config. A server that is not there is UNAVAILABLE, one that is too slow DEADLINE_EXCEEDED.
class Client {
 public:
  // `target`: HOST:PORT, or any gRPC name such as "dns:///heed.example:50051" or "unix:/run/heed".
  // INVALID_ARGUMENT for a target that is neither, a deadline that is not positive, or a service
  // config that is not one.
  static absl::StatusOr<std::unique_ptr<Client>> Create(const std::string& target,
                                                        const ClientOptions& options = {});
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // One call; for more texts than the server takes in one, see classify_many.h.
  absl::StatusOr<v1::ClassifyResponse> Classify(const v1::ClassifyRequest& request,
                                                const CallOptions& options = {}) const;
  absl::StatusOr<v1::ListModelsResponse> ListModels(const CallOptions& options = {}) const;
  absl::StatusOr<v1::GetModelResponse> GetModel(const v1::GetModelRequest& request,
                                                const CallOptions& options = {}) const;
  absl::StatusOr<v1::TokenizeResponse> Tokenize(const v1::TokenizeRequest& request,
                                                const CallOptions& options = {}) const;

  // The attention of one text, all its tiles put together. INTERNAL for an answer that does not
  // hold what its header announces, RESOURCE_EXHAUSTED beyond ClientOptions::max_attention_bytes.
  // The deadline counts for the whole stream; it is tried again only if nothing has come yet.
  absl::StatusOr<AttentionData> GetAttention(const v1::GetAttentionRequest& request,
                                             const AttentionProgress& progress = {},
                                             const CallOptions& options = {}) const;

  absl::StatusOr<v1::ProbePermutationResponse> ProbePermutation(
      const v1::ProbePermutationRequest& request, const CallOptions& options = {}) const;
  absl::StatusOr<v1::ProbeMaskingResponse> ProbeMasking(const v1::ProbeMaskingRequest& request,
                                                        const CallOptions& options = {}) const;
  absl::StatusOr<v1::GetLayerProfileResponse> GetLayerProfile(
      const v1::GetLayerProfileRequest& request, const CallOptions& options = {}) const;
  absl::StatusOr<v1::GetPositionSimilarityResponse> GetPositionSimilarity(
      const v1::GetPositionSimilarityRequest& request, const CallOptions& options = {}) const;

  // `service` as in grpc.health.v1; empty: the server as a whole. NOT_FOUND for a service that the
  // server does not know.
  absl::StatusOr<grpc::health::v1::HealthCheckResponse> CheckHealth(
      const std::string& service, const CallOptions& options = {}) const;

  const std::string& target() const { return target_; }

 private:
  struct Stubs;

  Client(std::string target, ClientOptions options);

  // Calls `method(context, response)` until it succeeds, fails for good, or time is up.
  template <typename Response, typename Method>
  absl::StatusOr<Response> Call(const CallOptions& options, const Method& method) const;

  const std::string target_;
  const ClientOptions options_;
  std::unique_ptr<Stubs> stubs_;
};

}  // namespace heed
