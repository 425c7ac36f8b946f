#include "server/service_server.h"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "server/service_handlers.h"
#include "tests/server/service_fixture.h"

namespace heed {
namespace {

class ServiceServerTest : public ServiceFixture {};

TEST_F(ServiceServerTest, FullQueueIsRefusedWithARetryDelay) {
  std::thread busy = Occupy();
  v1::ClassifyResponse ignored;
  std::thread waiting([&] {
    v1::ClassifyResponse response;
    EXPECT_TRUE(Classify(Request({"a b c d e f g h", "a b c d e f g h"}), response).ok());
  });
  while (MetricsText().find("heed_queue_tokens{model=\"plain\"} 20") == std::string::npos) {
    std::this_thread::yield();
  }
  // One text and a list of two fare alike.
  for (const auto& texts : {std::vector<std::string>{"a b c d e f g h i j"},
                            std::vector<std::string>{"a b c d", "a b c d"}}) {
    const Error error = ClassifyError(Request(texts));
    EXPECT_EQ(error.code, grpc::StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_EQ(error.reason, "QUEUE_FULL");
    EXPECT_TRUE(error.retry);
  }
  plain_->Open();
  busy.join();
  waiting.join();
  EXPECT_TRUE(Classify(Request({"a"}), ignored).ok());
}

TEST_F(ServiceServerTest, CancelledCallLeavesTheQueue) {
  std::thread busy = Occupy();
  grpc::ClientContext context;
  v1::ClassifyResponse response;
  std::thread caller([&] {
    EXPECT_EQ(classification_->Classify(&context, Request({"a b", "c"}), &response).error_code(),
              grpc::StatusCode::CANCELLED);
  });
  while (MetricsText().find("heed_queue_texts{model=\"plain\"} 2") == std::string::npos) {
    std::this_thread::yield();
  }
  context.TryCancel();
  caller.join();
  while (MetricsText().find("heed_cancelled_texts_total{model=\"plain\"} 2") == std::string::npos) {
    std::this_thread::yield();
  }
  plain_->Open();
  busy.join();
  EXPECT_NE(MetricsText().find("heed_computed_texts_total{model=\"plain\"} 1\n"),
            std::string::npos);
}

TEST_F(ServiceServerTest, DeadlineOfTheClientIsKept) {
  std::thread busy = Occupy();
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(50));
  v1::ClassifyResponse response;
  EXPECT_EQ(classification_->Classify(&context, Request({"a"}), &response).error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);
  plain_->Open();
  busy.join();
}

TEST_F(ServiceServerTest, DrainFinishesAcceptedCallsAndRefusesNewOnes) {
  std::thread busy = Occupy();
  server_->SetHealth(false);
  lifecycle_.SetDraining();
  const Error error = ClassifyError(Request({"a"}));
  EXPECT_EQ(error.code, grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(error.reason, "DRAINING");
  EXPECT_TRUE(error.retry);
  grpc::health::v1::HealthCheckResponse::ServingStatus health;
  EXPECT_TRUE(Health("", health).ok());
  EXPECT_EQ(health, grpc::health::v1::HealthCheckResponse::NOT_SERVING);
  EXPECT_FALSE(lifecycle_.AwaitIdle(clock_.Now()));
  plain_->Open();
  busy.join();
  EXPECT_TRUE(lifecycle_.AwaitIdle(absl::InfiniteFuture()));
  server_->Shutdown(absl::ZeroDuration());
}

TEST_F(ServiceServerTest, HealthByService) {
  using Response = grpc::health::v1::HealthCheckResponse;
  Response::ServingStatus status;
  for (const char* name : {"", "readiness", "liveness", "heed.v1.AttentionService",
                           "heed.v1.ClassificationService", "heed.v1.ModelService"}) {
    EXPECT_TRUE(Health(name, status).ok()) << name;
    EXPECT_EQ(status, Response::SERVING) << name;
  }
  EXPECT_EQ(Health("heed.v1.NoService", status).error_code(), grpc::StatusCode::NOT_FOUND);
  server_->SetHealth(false);
  ASSERT_TRUE(Health("heed.v1.ModelService", status).ok());
  EXPECT_EQ(status, Response::NOT_SERVING);
  ASSERT_TRUE(Health("liveness", status).ok());
  EXPECT_EQ(status, Response::SERVING);
}

TEST_F(ServiceServerTest, EveryOtherMethodIsUnimplementedAndNamed) {
  for (const std::string& path : MethodPaths()) {
    if (MakeHandlers(context_).count(path) != 0) continue;
    const Error error = Read(CallRaw(path, ""));
    EXPECT_EQ(error.code, grpc::StatusCode::UNIMPLEMENTED) << path;
    EXPECT_EQ(error.reason, "METHOD_NOT_IMPLEMENTED") << path;
    EXPECT_EQ(error.metadata.at("method"), path);
  }
  const Error error = Read(CallRaw("/no.Service/Method", ""));
  EXPECT_EQ(error.code, grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_NE(MetricsText().find("{code=\"UNIMPLEMENTED\",method=\"unknown\"} 1"), std::string::npos);
}

TEST_F(ServiceServerTest, StreamsOfLaterVersionsEndAtOnce) {
  grpc::ClientContext context;
  const auto stream = classification_->ClassifyStream(&context);
  v1::ClassifyStreamRequest request;
  while (stream->Write(request)) {
  }
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNIMPLEMENTED);
}

TEST_F(ServiceServerTest, SixtyFourClientsAtOnce) {
  std::vector<std::thread> clients;
  std::atomic<int> answered{0};
  std::atomic<int> refused{0};
  for (int client = 0; client < 64; ++client) {
    clients.emplace_back([&, client] {
      for (int i = 0; i < 20; ++i) {
        const std::string word(static_cast<size_t>(client % 20 + 1), 'a');
        v1::ClassifyRequest request = Request({word});
        request.set_return_logits(true);
        v1::ClassifyResponse response;
        const grpc::Status status = Classify(request, response);
        if (status.ok()) {
          ++answered;
          ASSERT_EQ(response.results(0).logits(1), static_cast<float>(13 + client % 20 + 1));
        } else {
          ++refused;  // the queue of this test holds 10 such texts
          ASSERT_EQ(Read(status).reason, "QUEUE_FULL");
        }
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(answered + refused, 64 * 20);
  EXPECT_GT(answered, 0);
  EXPECT_NE(MetricsText().find(absl::StrCat("heed_requests_total{code=\"OK\",method=\"", kClassify,
                                            "\"} ", answered.load(), "\n")),
            std::string::npos);
}

TEST_F(ServiceServerTest, PortInUseIsAnError) {
  RpcServerOptions options;
  options.listen = server_->address();
  const auto second = RpcServer::Start(options, context_);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(second.status().message().find(options.listen), absl::string_view::npos);
}

}  // namespace
}  // namespace heed
