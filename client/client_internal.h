// What the sources of Client share: the stubs, and the loop that tries a call again. No part of the
// library's interface.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/client.h"
#include "client/rpc_error.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "heed/v1/attention.grpc.pb.h"
#include "heed/v1/classification.grpc.pb.h"
#include "heed/v1/model.grpc.pb.h"
#include "heed/v1/probe.grpc.pb.h"

namespace heed {

namespace internal {

// How long to wait before asking again; nothing if the error is final or `left` is too short.
std::optional<absl::Duration> RetryWait(const absl::Status& status, absl::Duration left);

}  // namespace internal

struct Client::Stubs {
  explicit Stubs(const std::shared_ptr<grpc::Channel>& channel)
      : classification(v1::ClassificationService::NewStub(channel)),
        model(v1::ModelService::NewStub(channel)),
        attention(v1::AttentionService::NewStub(channel)),
        probe(v1::ProbeService::NewStub(channel)),
        health(grpc::health::v1::Health::NewStub(channel)) {}

  std::unique_ptr<v1::ClassificationService::Stub> classification;
  std::unique_ptr<v1::ModelService::Stub> model;
  std::unique_ptr<v1::AttentionService::Stub> attention;
  std::unique_ptr<v1::ProbeService::Stub> probe;
  std::unique_ptr<grpc::health::v1::Health::Stub> health;
};

template <typename Response, typename Method>
absl::StatusOr<Response> Client::Call(const CallOptions& options, const Method& method) const {
  const absl::Time deadline = options_.now() + options.deadline.value_or(options_.deadline);
  while (true) {
    grpc::ClientContext context;
    // gRPC reads the real clock, whatever options_.now() says; only what is left counts.
    context.set_deadline(absl::ToChronoTime(absl::Now() + (deadline - options_.now())));
    Response response;
    const grpc::Status outcome = method(&context, &response);
    if (outcome.ok()) return response;
    absl::Status status = FromGrpcStatus(outcome);
    const std::optional<absl::Duration> wait =
        internal::RetryWait(status, deadline - options_.now());
    if (!wait.has_value()) return status;
    options_.sleep(*wait);
  }
}

}  // namespace heed
