// The whole service over real gRPC on a free port, with fake models behind it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/generic/generic_stub.h"
#include "gtest/gtest.h"
#include "heed/v1/attention.grpc.pb.h"
#include "heed/v1/classification.grpc.pb.h"
#include "heed/v1/model.grpc.pb.h"
#include "prometheus/text_serializer.h"
#include "server/byte_budget.h"
#include "server/service_server.h"
#include "server/timer_queue.h"
#include "tests/fakes/fake_model.h"

namespace heed {

inline constexpr char kClassify[] = "/heed.v1.ClassificationService/Classify";

// The parts of an error as a client finds them.
struct Error {
  grpc::StatusCode code = grpc::StatusCode::OK;
  std::string reason;
  std::map<std::string, std::string> metadata;
  std::vector<std::string> fields;
  bool retry = false;
  int info_count = 0;
};

inline Error Read(const grpc::Status& status) {
  Error error;
  error.code = status.error_code();
  google::rpc::Status rpc;
  EXPECT_TRUE(rpc.ParseFromString(status.error_details()));
  for (const auto& detail : rpc.details()) {
    google::rpc::ErrorInfo info;
    google::rpc::BadRequest bad;
    google::rpc::RetryInfo retry;
    if (detail.UnpackTo(&info)) {
      EXPECT_EQ(info.domain(), "heed.dev");
      ++error.info_count;
      error.reason = info.reason();
      error.metadata = {info.metadata().begin(), info.metadata().end()};
    } else if (detail.UnpackTo(&bad)) {
      for (const auto& violation : bad.field_violations())
        error.fields.push_back(violation.field());
    } else if (detail.UnpackTo(&retry)) {
      error.retry = true;
    }
  }
  EXPECT_EQ(error.info_count, 1);
  return error;
}

class ServiceFixture : public testing::Test {
 protected:
  ServiceFixture() : lifecycle_(&clock_), pool_(2, 1 << 20) {
    scheduler_limits_.max_queue_tokens = 30;
  }

  // The pair model is called "pairs", the one that labels tokens (of pairs too) "tokens", the one
  // without attention "blind", the default one "plain".
  void SetUp() override {
    AddModel("plain", plain_, false);
    AddModel("pairs", pairs_, true);
    tokens_->LabelTokens();
    AddModel("tokens", tokens_, true);
    AddModel("blind", blind_, false);
    blind_->mutable_info().has_attention = false;
    attention_memory_ =
        std::make_unique<ByteBudget>(attention_memory_bytes_, metrics_.attention().reserved_bytes);
    context_ = {
        &clock_, &metrics_, &lifecycle_, &registry_, &pool_, limits_, attention_memory_.get(),
        &timers_};
    auto server = RpcServer::Start(RpcServerOptions{}, context_);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    lifecycle_.SetServing();
    server_->SetHealth(true);
    channel_ = grpc::CreateChannel(server_->address(), grpc::InsecureChannelCredentials());
    classification_ = v1::ClassificationService::NewStub(channel_);
    model_ = v1::ModelService::NewStub(channel_);
    attention_ = v1::AttentionService::NewStub(channel_);
  }

  void TearDown() override {
    plain_->Open();
    server_.reset();
  }

  void AddModel(const std::string& name, const std::shared_ptr<FakeRunner>& runner, bool pairs,
                size_t max_tokens = 16) {
    runner->mutable_info().accepts_pairs = pairs;
    auto model = std::make_unique<ServedModel>();
    model->name = name;
    model->model = {std::make_shared<FakeTokenizer>(max_tokens, pairs), runner, {}};
    model->scheduler = std::make_unique<BatchScheduler>(runner.get(), &clock_, scheduler_limits_,
                                                        metrics_.AddModel(name, runner->info()));
    registry_.Add(std::move(model));
  }

  static v1::ClassifyRequest Request(const std::vector<std::string>& texts) {
    v1::ClassifyRequest request;
    for (const std::string& text : texts) request.add_inputs()->set_text(text);
    return request;
  }

  grpc::Status Classify(const v1::ClassifyRequest& request, v1::ClassifyResponse& response) {
    grpc::ClientContext context;
    return classification_->Classify(&context, request, &response);
  }

  Error ClassifyError(const v1::ClassifyRequest& request) {
    v1::ClassifyResponse response;
    return Read(Classify(request, response));
  }

  // A call with bytes as they are, to any method.
  grpc::Status CallRaw(const std::string& method, const std::string& bytes) {
    grpc::GenericStub stub(channel_);
    grpc::ClientContext context;
    const grpc::Slice slice(bytes);
    grpc::ByteBuffer request(&slice, 1);
    grpc::ByteBuffer response;
    absl::Notification done;
    grpc::Status result;
    stub.UnaryCall(&context, method, grpc::StubOptions(), &request, &response,
                   [&](grpc::Status status) {
                     result = std::move(status);
                     done.Notify();
                   });
    done.WaitForNotification();
    return result;
  }

  // Starts a call that keeps the default model busy until plain_->Open().
  std::thread Occupy() {
    plain_->Close();
    std::thread caller([this] {
      v1::ClassifyResponse response;
      EXPECT_TRUE(Classify(Request({""}), response).ok());
    });
    plain_->AwaitRuns(1);
    return caller;
  }

  std::string MetricsText() {
    return prometheus::TextSerializer().Serialize(metrics_.registry()->Collect());
  }

  grpc::Status Health(const std::string& service,
                      grpc::health::v1::HealthCheckResponse::ServingStatus& status) {
    const auto stub = grpc::health::v1::Health::NewStub(channel_);
    grpc::health::v1::HealthCheckRequest request;
    request.set_service(service);
    grpc::health::v1::HealthCheckResponse response;
    grpc::ClientContext context;
    const grpc::Status result = stub->Check(&context, request, &response);
    status = response.status();
    return result;
  }

  RealClock clock_;
  Metrics metrics_{MethodPaths()};
  Lifecycle lifecycle_;
  std::shared_ptr<FakeRunner> plain_ = std::make_shared<FakeRunner>();
  std::shared_ptr<FakeRunner> pairs_ = std::make_shared<FakeRunner>();
  std::shared_ptr<FakeRunner> tokens_ = std::make_shared<FakeRunner>();
  std::shared_ptr<FakeRunner> blind_ = std::make_shared<FakeRunner>();
  BatchScheduler::Limits scheduler_limits_;
  RequestLimits limits_{4096, 1 << 20};
  size_t attention_memory_bytes_ = size_t{1} << 30;
  TimerQueue timers_{&clock_};
  std::unique_ptr<ByteBudget> attention_memory_;
  ModelRegistry registry_;
  ThreadPool pool_;
  ServiceContext context_;
  std::unique_ptr<RpcServer> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::ClassificationService::Stub> classification_;
  std::unique_ptr<v1::ModelService::Stub> model_;
  std::unique_ptr<v1::AttentionService::Stub> attention_;
};

}  // namespace heed
