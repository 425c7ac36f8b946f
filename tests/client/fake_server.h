// A server for client tests that answers by rule, without a model: in-process, on a free port.
#pragma once

#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "grpc/health/v1/health.grpc.pb.h"
#include "heed/v1/classification.grpc.pb.h"
#include "heed/v1/model.grpc.pb.h"
#include "tests/client/fake_attention.h"

namespace heed::testing {

// What an error carries besides its code.
struct FakeError {
  grpc::StatusCode code = grpc::StatusCode::OK;
  std::string message;
  std::string reason;           // empty: no ErrorInfo, as when gRPC itself fails
  std::string violation_field;  // empty: no BadRequest
  std::string violation_description;
  double retry_delay_seconds = -1.0;  // negative: no RetryInfo
};

grpc::Status MakeStatus(const FakeError& error);

// Rules of Classify:
// - first the queued errors, one a call;
// - a text "fail" is INVALID_ARGUMENT for its field "inputs[i].text";
// - a text "slow" holds the call until its deadline or until the server ends;
// - to the model "tokens": an entity "X" of the first two bytes, score 0.9, and with logits one row
//   {0.5, -1.5}; like a real one it refuses top_k;
// - any other: label "positive" where the text contains "good", else "negative"; score 0.9 and 0.1,
//   logits {negative, positive}; one token a byte, truncated to 10 where the policy allows it; with
//   importance the tokens of AddFakeTokens(), the i-th of n with 2 (i + 1) / (n (n + 1)).
class FakeServer final : public v1::ClassificationService::Service {
 public:
  FakeServer();
  ~FakeServer() override;

  // "127.0.0.1:PORT".
  std::string address() const;

  void QueueErrors(int count, const FakeError& error);
  // What the health service answers, one after another; the last one stays.
  void SetHealth(std::deque<grpc::health::v1::HealthCheckResponse::ServingStatus> statuses);

  // Of the calls so far, in order of arrival.
  std::vector<v1::ClassifyRequest> requests() const;
  int most_calls_at_once() const;

  FakeAttention& attention() { return attention_; }
  FakeProbe& probe() { return probe_; }

  grpc::Status Classify(grpc::ServerContext* context, const v1::ClassifyRequest* request,
                        v1::ClassifyResponse* response) override;

 private:
  class Models final : public v1::ModelService::Service {
   public:
    grpc::Status ListModels(grpc::ServerContext* context, const v1::ListModelsRequest* request,
                            v1::ListModelsResponse* response) override;
    grpc::Status GetModel(grpc::ServerContext* context, const v1::GetModelRequest* request,
                          v1::GetModelResponse* response) override;
    grpc::Status Tokenize(grpc::ServerContext* context, const v1::TokenizeRequest* request,
                          v1::TokenizeResponse* response) override;
  };
  // Knows "" and "heed.v1.ClassificationService".
  class Health final : public grpc::health::v1::Health::Service {
   public:
    grpc::Status Check(grpc::ServerContext* context,
                       const grpc::health::v1::HealthCheckRequest* request,
                       grpc::health::v1::HealthCheckResponse* response) override;
    std::mutex mutex;
    std::deque<grpc::health::v1::HealthCheckResponse::ServingStatus> statuses = {
        grpc::health::v1::HealthCheckResponse::SERVING};
  };

  grpc::Status Hold(grpc::ServerContext* context);

  mutable std::mutex mutex_;
  std::condition_variable stopped_;
  bool stop_ = false;
  std::deque<FakeError> errors_;
  std::vector<v1::ClassifyRequest> requests_;
  int calls_now_ = 0;
  int most_calls_ = 0;
  Models models_;
  FakeAttention attention_;
  FakeProbe probe_;
  Health health_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

// The model that the fake serves.
v1::Model FakeModel();

// A port that is taken, with nobody who listens: connections to it are refused.
class RefusedAddress {
 public:
  RefusedAddress();
  ~RefusedAddress();
  RefusedAddress(const RefusedAddress&) = delete;
  RefusedAddress& operator=(const RefusedAddress&) = delete;

  const std::string& address() const { return address_; }

 private:
  int fd_ = -1;
  std::string address_;
};

}  // namespace heed::testing
