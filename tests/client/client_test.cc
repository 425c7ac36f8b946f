#include "client/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "absl/time/clock.h"
#include "client/rpc_error.h"
#include "tests/client/fake_server.h"

namespace heed {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::FakeServer;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::SizeIs;

constexpr testing::FakeError kUnavailable = {.code = grpc::StatusCode::UNAVAILABLE};

v1::ClassifyRequest RequestFor(const std::string& text) {
  v1::ClassifyRequest request;
  request.add_inputs()->set_text(text);
  return request;
}

// A client whose waits pass at once and are written down.
class WaitingClient {
 public:
  explicit WaitingClient(const std::string& address, ClientOptions options = {}) {
    options.now = [this] { return now_; };
    options.sleep = [this](absl::Duration wait) {
      waits_.push_back(wait);
      now_ += wait;
    };
    client_ = *Client::Create(address, options);
  }
  const Client& operator*() const { return *client_; }
  const Client* operator->() const { return client_.get(); }
  const std::vector<absl::Duration>& waits() const { return waits_; }

 private:
  absl::Time now_ = absl::FromUnixSeconds(1'700'000'000);
  std::vector<absl::Duration> waits_;
  std::unique_ptr<Client> client_;
};

TEST(ClientTest, ClassifiesOverOneConnection) {
  FakeServer server;
  const auto client = Client::Create(server.address());
  ASSERT_TRUE(client.ok());
  const auto response = (*client)->Classify(RequestFor("a good day"));
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->results(0).labels(0).label(), "positive");
}

TEST(ClientTest, AnswersOfTheOtherServicesArrive) {
  FakeServer server;
  const auto client = Client::Create(server.address());
  ASSERT_TRUE(client.ok());
  const auto models = (*client)->ListModels();
  ASSERT_TRUE(models.ok()) << models.status();
  EXPECT_EQ(models->models(0).name(), "fake");
  v1::GetModelRequest get;
  get.mutable_model()->set_name("other");
  EXPECT_EQ((*client)->GetModel(get).status().code(), absl::StatusCode::kNotFound);
  v1::TokenizeRequest tokenize;
  tokenize.add_inputs()->set_text("hello");
  const auto tokens = (*client)->Tokenize(tokenize);
  ASSERT_TRUE(tokens.ok()) << tokens.status();
  EXPECT_EQ(tokens->results(0).tokens(1).piece(), "hello");
  const auto health = (*client)->CheckHealth("");
  ASSERT_TRUE(health.ok()) << health.status();
  EXPECT_EQ(health->status(), grpc::health::v1::HealthCheckResponse::SERVING);
}

TEST(ClientTest, RefusesWhatIsNoAddress) {
  for (const char* target : {"", "localhost", ":50051", "localhost:", "localhost:0", "a:99999"}) {
    EXPECT_EQ(Client::Create(target).status().code(), absl::StatusCode::kInvalidArgument) << target;
  }
  for (const char* target : {"localhost:1", "[::1]:50051", "dns:///heed:50051", "unix:/tmp/heed"}) {
    EXPECT_TRUE(Client::Create(target).ok()) << target;
  }
}

TEST(ClientTest, RefusesABadConfigOrDeadline) {
  ClientOptions options;
  options.service_config_json = "{";
  EXPECT_THAT(std::string(Client::Create("a:1", options).status().message()),
              HasSubstr("service config"));
  options = {};
  options.deadline = absl::ZeroDuration();
  EXPECT_THAT(std::string(Client::Create("a:1", options).status().message()),
              HasSubstr("deadline"));
}

TEST(ClientTest, UnavailableIsTriedAgain) {
  FakeServer server;
  server.QueueErrors(2, kUnavailable);
  const auto client = Client::Create(server.address());
  ASSERT_TRUE(client.ok());
  const auto response = (*client)->Classify(RequestFor("a good day"));
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_THAT(server.requests(), SizeIs(3));
}

TEST(ClientTest, UnavailableIsGivenUpAfterTheAttemptsOfTheConfig) {
  FakeServer server;
  server.QueueErrors(10, kUnavailable);
  ClientOptions options;
  options.service_config_json = R"({"methodConfig": [{
    "name": [{"service": "heed.v1.ClassificationService"}],
    "retryPolicy": {"maxAttempts": 3, "initialBackoff": "0.001s", "maxBackoff": "0.001s",
                    "backoffMultiplier": 1, "retryableStatusCodes": ["UNAVAILABLE"]}}]})";
  const auto client = Client::Create(server.address(), options);
  ASSERT_TRUE(client.ok());
  EXPECT_EQ((*client)->Classify(RequestFor("x")).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(server.requests(), SizeIs(3));
}

TEST(ClientTest, OtherErrorsAreNotTriedAgain) {
  FakeServer server;
  server.QueueErrors(1, {.code = grpc::StatusCode::INTERNAL});
  const auto client = Client::Create(server.address());
  ASSERT_TRUE(client.ok());
  EXPECT_EQ((*client)->Classify(RequestFor("x")).status().code(), absl::StatusCode::kInternal);
  EXPECT_THAT(server.requests(), SizeIs(1));
}

TEST(ClientTest, ResourceExhaustedIsTriedAgainAfterTheDelayOfTheServer) {
  FakeServer server;
  server.QueueErrors(2, {.code = grpc::StatusCode::RESOURCE_EXHAUSTED,
                         .reason = "QUEUE_FULL",
                         .retry_delay_seconds = 2.0});
  const WaitingClient client(server.address());
  const auto response = client->Classify(RequestFor("a good day"));
  ASSERT_TRUE(response.ok()) << response.status();
  const auto delay = AllOf(Ge(absl::Seconds(2)), Le(absl::Seconds(2.4)));
  EXPECT_THAT(client.waits(), ElementsAre(delay, delay));
}

TEST(ClientTest, ResourceExhaustedEndsWhereTheDelayPassesTheDeadline) {
  FakeServer server;
  server.QueueErrors(100, {.code = grpc::StatusCode::RESOURCE_EXHAUSTED,
                           .reason = "QUEUE_FULL",
                           .retry_delay_seconds = 4.0});
  ClientOptions options;
  options.deadline = absl::Seconds(10);
  const WaitingClient client(server.address(), options);
  EXPECT_EQ(client->Classify(RequestFor("x")).status().code(),
            absl::StatusCode::kResourceExhausted);
  // 4 to 4.8 s each: a third wait would end behind the 10 s.
  EXPECT_THAT(client.waits(), SizeIs(2));
}

TEST(ClientTest, ResourceExhaustedWithoutADelayIsFinal) {
  FakeServer server;
  server.QueueErrors(1, {.code = grpc::StatusCode::RESOURCE_EXHAUSTED, .reason = "TOO_LARGE"});
  const WaitingClient client(server.address());
  EXPECT_EQ(client->Classify(RequestFor("x")).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(client.waits(), IsEmpty());
}

TEST(ClientTest, ADelayOfZeroIsNoTightLoop) {
  FakeServer server;
  server.QueueErrors(1, {.code = grpc::StatusCode::RESOURCE_EXHAUSTED,
                         .reason = "QUEUE_FULL",
                         .retry_delay_seconds = 0.0});
  const WaitingClient client(server.address());
  EXPECT_TRUE(client->Classify(RequestFor("x")).ok());
  EXPECT_THAT(client.waits(), ElementsAre(Ge(absl::Milliseconds(10))));
}

TEST(ClientTest, TheDeadlineOfACallEndsIt) {
  FakeServer server;
  const auto client = Client::Create(server.address());
  ASSERT_TRUE(client.ok());
  EXPECT_EQ(
      (*client)->Classify(RequestFor("slow"), {.deadline = absl::Milliseconds(50)}).status().code(),
      absl::StatusCode::kDeadlineExceeded);
}

TEST(ClientTest, ARefusedConnectionIsUnavailable) {
  const testing::RefusedAddress nobody;
  const auto client = Client::Create(nobody.address());
  ASSERT_TRUE(client.ok());
  const absl::Status status = (*client)->CheckHealth("").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("Connection refused"));
}

}  // namespace
}  // namespace heed
