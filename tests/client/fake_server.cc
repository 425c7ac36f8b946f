#include "tests/client/fake_server.h"

#include <arpa/inet.h>
#include <google/rpc/error_details.pb.h>
#include <google/rpc/status.pb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace heed::testing {
namespace {

using grpc::health::v1::HealthCheckResponse;

constexpr uint32_t kMaxTokens = 10;

void SetUsage(const std::string& text, v1::LongTextPolicy policy, v1::TokenUsage* usage) {
  const auto count = static_cast<uint32_t>(text.size());
  usage->set_original_token_count(count);
  usage->set_truncated(policy == v1::LONG_TEXT_POLICY_TRUNCATE && count > kMaxTokens);
  usage->set_token_count(usage->truncated() ? kMaxTokens : count);
  usage->set_chunk_count(1);
}

void AddLabel(const char* name, uint32_t id, float score, v1::Classification* result) {
  v1::LabelScore* const label = result->add_labels();
  label->set_label(name);
  label->set_label_id(id);
  label->set_score(score);
}

void FillEntities(const std::string& text, const v1::ClassifyRequest& request,
                  v1::Classification* result) {
  v1::Entity* const entity = result->add_entities();
  entity->set_label("X");
  entity->set_score(0.9f);
  entity->set_end_byte(2);
  entity->set_end_char(1);
  if (request.return_logits()) {
    v1::Tensor* const logits = result->mutable_token_logits();
    logits->set_type(v1::TENSOR_TYPE_FLOAT32);
    logits->add_shape(1);
    logits->add_shape(2);
    logits->set_data(std::string("\0\0\0\x3f\0\0\xc0\xbf", 8));
  }
  SetUsage(text, request.long_text_policy(), result->mutable_usage());
}

void FillResult(const std::string& text, const v1::ClassifyRequest& request,
                v1::Classification* result) {
  const bool good = absl::StrContains(text, "good");
  AddLabel(good ? "positive" : "negative", good ? 1 : 0, 0.9f, result);
  if (request.top_k() != 1) AddLabel(good ? "negative" : "positive", good ? 0 : 1, 0.1f, result);
  if (request.return_logits()) {
    result->add_logits(good ? -1.5f : 1.5f);
    result->add_logits(good ? 1.5f : -1.5f);
  }
  if (request.importance() != v1::IMPORTANCE_UNSPECIFIED) {
    AddFakeTokens(text, result->mutable_tokens());
    const auto count = static_cast<float>(result->tokens_size());
    for (int i = 0; i < result->tokens_size(); ++i) {
      result->add_token_importance(2.0f * static_cast<float>(i + 1) / (count * (count + 1.0f)));
    }
  }
  SetUsage(text, request.long_text_policy(), result->mutable_usage());
  result->mutable_timing()->mutable_compute()->set_nanos(2'000'000);
}

}  // namespace

grpc::Status MakeStatus(const FakeError& error) {
  google::rpc::Status proto;
  proto.set_code(error.code);
  proto.set_message(error.message);
  if (!error.reason.empty()) {
    google::rpc::ErrorInfo info;
    info.set_domain("heed.dev");
    info.set_reason(error.reason);
    (*info.mutable_metadata())["limit"] = "512";
    proto.add_details()->PackFrom(info);
  }
  if (!error.violation_field.empty()) {
    google::rpc::BadRequest bad_request;
    auto* const violation = bad_request.add_field_violations();
    violation->set_field(error.violation_field);
    violation->set_description(error.violation_description);
    proto.add_details()->PackFrom(bad_request);
  }
  if (error.retry_delay_seconds >= 0.0) {
    google::rpc::RetryInfo retry;
    const auto nanos = static_cast<int64_t>(error.retry_delay_seconds * 1e9);
    retry.mutable_retry_delay()->set_seconds(nanos / 1'000'000'000);
    retry.mutable_retry_delay()->set_nanos(static_cast<int32_t>(nanos % 1'000'000'000));
    proto.add_details()->PackFrom(retry);
  }
  return grpc::Status(error.code, error.message, proto.SerializeAsString());
}

FakeServer::FakeServer() {
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
  builder.RegisterService(this);
  builder.RegisterService(&models_);
  builder.RegisterService(&attention_);
  builder.RegisterService(&probe_);
  builder.RegisterService(&health_);
  server_ = builder.BuildAndStart();
}

FakeServer::~FakeServer() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  stopped_.notify_all();
  server_->Shutdown(std::chrono::system_clock::now());
}

std::string FakeServer::address() const { return absl::StrCat("127.0.0.1:", port_); }

void FakeServer::QueueErrors(int count, const FakeError& error) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (int i = 0; i < count; ++i) errors_.push_back(error);
}

void FakeServer::SetHealth(std::deque<HealthCheckResponse::ServingStatus> statuses) {
  const std::lock_guard<std::mutex> lock(health_.mutex);
  health_.statuses = std::move(statuses);
}

std::vector<v1::ClassifyRequest> FakeServer::requests() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return requests_;
}

int FakeServer::most_calls_at_once() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return most_calls_;
}

grpc::Status FakeServer::Hold(grpc::ServerContext* context) {
  std::unique_lock<std::mutex> lock(mutex_);
  // Looks for the cancellation now and then; the synchronous API cannot be told of it.
  while (!stop_ && !context->IsCancelled()) {
    stopped_.wait_for(lock, std::chrono::milliseconds(5));
  }
  return grpc::Status(grpc::StatusCode::CANCELLED, "held until the end");
}

grpc::Status FakeServer::Classify(grpc::ServerContext* context, const v1::ClassifyRequest* request,
                                  v1::ClassifyResponse* response) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    requests_.push_back(*request);
    if (!errors_.empty()) {
      const FakeError error = errors_.front();
      errors_.pop_front();
      return MakeStatus(error);
    }
    most_calls_ = std::max(most_calls_, ++calls_now_);
  }
  grpc::Status status;
  response->set_model_name("fake");
  response->set_model_version("v1");
  for (int i = 0; i < request->inputs_size() && status.ok(); ++i) {
    const std::string& text = request->inputs(i).text();
    if (text == "slow") status = Hold(context);
    if (text == "fail") {
      const std::string field = absl::StrCat("inputs[", i, "].text");
      status = MakeStatus({.code = grpc::StatusCode::INVALID_ARGUMENT,
                           .message = absl::StrCat(field, " has 600 tokens, the limit is 512"),
                           .reason = "TOO_MANY_TOKENS",
                           .violation_field = field,
                           .violation_description = "too many tokens"});
    }
    const bool tokens = request->model().name() == "tokens";
    if (tokens && request->top_k() != 0) {
      status = MakeStatus({.code = grpc::StatusCode::INVALID_ARGUMENT,
                           .message = "this model labels tokens",
                           .reason = "TOP_K_NOT_SUPPORTED",
                           .violation_field = "top_k"});
    }
    (tokens ? FillEntities : FillResult)(text, *request, response->add_results());
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  --calls_now_;
  return status;
}

v1::Model FakeModel() {
  v1::Model model;
  model.set_name("fake");
  model.set_version("v1");
  model.set_default_(true);
  model.set_architecture("bert");
  model.set_positional_encoding("learned");
  model.set_attention_pattern("dense");
  model.set_layer_count(6);
  model.set_head_count(12);
  model.set_hidden_size(384);
  model.set_max_tokens(512);
  model.add_labels("negative");
  model.add_labels("positive");
  model.set_task("single_label_classification");
  model.set_precision("fp32");
  model.set_device("cpu");
  model.set_parameter_count(22'713'602);
  model.set_weights_bytes(90'854'408);
  return model;
}

grpc::Status FakeServer::Models::ListModels(grpc::ServerContext*, const v1::ListModelsRequest*,
                                            v1::ListModelsResponse* response) {
  *response->add_models() = FakeModel();
  return grpc::Status::OK;
}

grpc::Status FakeServer::Models::GetModel(grpc::ServerContext*, const v1::GetModelRequest* request,
                                          v1::GetModelResponse* response) {
  if (request->model().name() != "fake") {
    return MakeStatus({.code = grpc::StatusCode::NOT_FOUND,
                       .message = absl::StrCat("no model \"", request->model().name(), "\""),
                       .reason = "MODEL_NOT_FOUND"});
  }
  *response->mutable_model() = FakeModel();
  return grpc::Status::OK;
}

grpc::Status FakeServer::Models::Tokenize(grpc::ServerContext*, const v1::TokenizeRequest* request,
                                          v1::TokenizeResponse* response) {
  for (const v1::TextInput& input : request->inputs()) {
    v1::TokenizedText* const result = response->add_results();
    v1::Token* const start = result->add_tokens();
    start->set_piece("[CLS]");
    start->set_id(101);
    start->set_special(true);
    v1::Token* const word = result->add_tokens();
    word->set_piece(input.text());
    word->set_id(7592);
    word->set_end_byte(static_cast<uint32_t>(input.text().size()));
    word->set_end_char(static_cast<uint32_t>(input.text().size()));
    result->mutable_usage()->set_token_count(2);
    result->mutable_usage()->set_original_token_count(2);
  }
  return grpc::Status::OK;
}

grpc::Status FakeServer::Health::Check(grpc::ServerContext*,
                                       const grpc::health::v1::HealthCheckRequest* request,
                                       HealthCheckResponse* response) {
  if (!request->service().empty() && request->service() != "heed.v1.ClassificationService") {
    return grpc::Status(grpc::StatusCode::NOT_FOUND, "unknown service");
  }
  const std::lock_guard<std::mutex> lock(mutex);
  response->set_status(statuses.front());
  if (statuses.size() > 1) statuses.pop_front();
  return grpc::Status::OK;
}

RefusedAddress::RefusedAddress() : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  if (bind(fd_, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
      getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size) == 0) {
    address_ = absl::StrCat("127.0.0.1:", ntohs(address.sin_port));
  }
}

RefusedAddress::~RefusedAddress() { close(fd_); }

}  // namespace heed::testing
