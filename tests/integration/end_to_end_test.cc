// The whole way over a real connection: the server process, the client program, grpcurl, /metrics.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/client.h"
#include "client/rpc_error.h"
#include "tests/integration/server_process.h"

namespace heed {
namespace {

using nlohmann::json;
using ::testing::AnyOf;
using testing::CommandResult;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::RunShell;
using testing::ServerProcess;

constexpr char kSentiment[] = "--model=sentiment=models/sentiment";
constexpr char kTiny[] = "--model=tiny=tests/golden/bert";

std::unique_ptr<Client> Connect(const std::string& address, ClientOptions options = {}) {
  auto client = Client::Create(address, options);
  EXPECT_TRUE(client.ok()) << client.status();
  return *std::move(client);
}

v1::ClassifyRequest RequestOf(const std::string& text) {
  v1::ClassifyRequest request;
  request.add_inputs()->set_text(text);
  return request;
}

class EndToEndTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { server_ = ServerProcess::Start({kSentiment, kTiny}).release(); }
  static void TearDownTestSuite() {
    delete server_;
    server_ = nullptr;
  }
  void SetUp() override { ASSERT_NE(server_, nullptr); }

  CommandResult Heed(const std::string& arguments) {
    return RunShell(absl::StrCat(HEED_PROGRAM, " --server ", server_->address(), " ", arguments));
  }
  CommandResult Grpcurl(const std::string& flags, const std::string& arguments) {
    return RunShell(absl::StrCat("no_proxy='*' ", HEED_GRPCURL, " -plaintext ", flags, " ",
                                 server_->address(), " ", arguments));
  }

  static ServerProcess* server_;
};
ServerProcess* EndToEndTest::server_ = nullptr;

TEST_F(EndToEndTest, TheClientGetsTheRightAnswers) {
  const CommandResult result =
      Heed("classify --json 'A warm, funny film that I loved.' 'Dull, lazy and badly acted.'");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const std::vector<std::string> lines = absl::StrSplit(result.output, '\n', absl::SkipEmpty());
  ASSERT_EQ(lines.size(), 2u) << result.output;
  const json good = json::parse(lines[0]);
  const json bad = json::parse(lines[1]);
  EXPECT_EQ(good["labels"][0]["label"], "positive");
  EXPECT_EQ(bad["labels"][0]["label"], "negative");
  EXPECT_EQ(good["model"], "sentiment");
  EXPECT_NEAR(good["labels"][0]["score"].get<double>() + good["labels"][1]["score"].get<double>(),
              1.0, 1e-6);
  for (const char* stage : {"tokenize", "queue", "compute", "serialize"}) {
    EXPECT_GE(good["timing"][stage].get<double>(), 0) << stage;
  }
  EXPECT_GT(good["timing"]["compute"].get<double>(), 0);
}

TEST_F(EndToEndTest, TheClientReadsFilesOfAnyLengthInOrder) {
  const std::string path = ::testing::TempDir() + "/heed-lines.txt";
  std::ofstream file(path);
  for (int i = 0; i < 5000; ++i) file << (i % 3 == 0 ? "a\n" : "a b\n");
  file.close();
  const CommandResult result =
      Heed("classify --model tiny --json --no-text --file " + path + " | wc -l");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.output, HasSubstr("5000"));
}

TEST_F(EndToEndTest, ModelsTokenizeHealth) {
  EXPECT_THAT(Heed("models").output, HasSubstr("sentiment *"));
  const CommandResult one = Heed("models --json sentiment");
  ASSERT_EQ(one.exit_code, 0) << one.output;
  const json model = json::parse(one.output);
  EXPECT_EQ(model["max_tokens"], 512);
  EXPECT_EQ(model["labels"], json({"negative", "positive"}));

  const CommandResult tokens = Heed("tokenize --json 'naïve café'");
  ASSERT_EQ(tokens.exit_code, 0) << tokens.output;
  const json list = json::parse(tokens.output)["tokens"];
  ASSERT_EQ(list.size(), 4u) << tokens.output;
  EXPECT_EQ(list[0]["special"], true);
  EXPECT_EQ(list[2]["start_byte"], 7);  // "ï" takes two bytes
  EXPECT_EQ(list[2]["start_char"], 6);

  const CommandResult health = Heed("health");
  EXPECT_EQ(health.exit_code, 0);
  EXPECT_THAT(health.output, HasSubstr("SERVING"));
}

TEST_F(EndToEndTest, ExitCodesTellWhatWentWrong) {
  EXPECT_EQ(Heed("classify --model nobody x").exit_code, 1);
  EXPECT_EQ(Heed("classify --no-such-flag x").exit_code, 2);
  EXPECT_EQ(RunShell(absl::StrCat(HEED_PROGRAM, " --timeout 2 --server 127.0.0.1:",
                                  testing::FreePort(), " models"))
                .exit_code,
            3);
}

TEST_F(EndToEndTest, GrpcurlListsDescribesAndCalls) {
  const CommandResult list = Grpcurl("", "list");
  for (const char* service : {"heed.v1.ClassificationService", "heed.v1.ModelService",
                              "heed.v1.AttentionService", "grpc.health.v1.Health"}) {
    EXPECT_THAT(list.output, HasSubstr(service));
  }
  EXPECT_THAT(Grpcurl("", "describe grpc.health.v1.Health").output, HasSubstr("rpc Check"));
  const CommandResult call =
      Grpcurl("-d '{\"inputs\": [{\"text\": \"A joy from start to end.\"}], \"top_k\": 1}'",
              "heed.v1.ClassificationService/Classify");
  ASSERT_EQ(call.exit_code, 0) << call.output;
  const json response = json::parse(call.output);
  EXPECT_EQ(response["model_name"], "sentiment");
  EXPECT_EQ(response["results"][0]["labels"][0]["label"], "positive");
  EXPECT_EQ(response["results"][0]["labels"].size(), 1u);
}

TEST_F(EndToEndTest, GrpcurlSeesErrorsWithDetails) {
  const CommandResult call = Grpcurl("-d '{}'", "heed.v1.ClassificationService/Classify");
  EXPECT_NE(call.exit_code, 0);
  EXPECT_THAT(call.output, HasSubstr("InvalidArgument"));
  EXPECT_THAT(call.output, HasSubstr("EMPTY_INPUTS"));
  EXPECT_THAT(call.output, HasSubstr("google.rpc.BadRequest"));
  EXPECT_THAT(Grpcurl("-d '{}'", "heed.v1.AttentionService/GetAttention").output,
              HasSubstr("\"field\": \"input\""));
  EXPECT_THAT(Grpcurl("-d '{}'", "heed.v1.ClassificationService/ClassifyStream").output,
              HasSubstr("Unimplemented"));
}

TEST_F(EndToEndTest, HealthPerService) {
  for (const char* service :
       {"", "liveness", "readiness", "heed.v1.ClassificationService",
        "heed.v1.AttentionService", "heed.v1.ProbeService", "heed.v1.ModelService"}) {
    EXPECT_THAT(Grpcurl(absl::StrCat("-d '{\"service\": \"", service, "\"}'"),
                        "grpc.health.v1.Health/Check")
                    .output,
                HasSubstr("\"SERVING\""))
        << service;
  }
  EXPECT_THAT(Grpcurl("-d '{\"service\": \"nobody\"}'", "grpc.health.v1.Health/Check").output,
              HasSubstr("NotFound"));
}

TEST_F(EndToEndTest, ManyClientsAtOnceEachGetTheirOwnAnswer) {
  const auto reference = Connect(server_->address());
  const std::vector<std::string> texts = {"I loved it.", "I hated it.", "A long and winding story.",
                                          ""};
  std::vector<float> expected;
  for (const std::string& text : texts) {
    const auto response = reference->Classify(RequestOf(text));
    ASSERT_TRUE(response.ok()) << response.status();
    expected.push_back(response->results(0).labels(0).score());
  }
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 64; ++t) {
    threads.emplace_back([&, t] {
      const auto client = Connect(server_->address());
      for (int i = 0; i < 10; ++i) {
        const size_t which = static_cast<size_t>(t + i) % texts.size();
        const auto response = client->Classify(RequestOf(texts[which]));
        const bool right = response.ok() && std::abs(response->results(0).labels(0).score() -
                                                     expected[which]) < 1e-4F;
        if (!right) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(MetricsTest, AllSeriesAreThereBeforeTheFirstRequestAndNoneIsAdded) {
  const auto server = ServerProcess::Start({kTiny});
  ASSERT_NE(server, nullptr);
  const auto names = [](const std::string& text) {
    std::vector<std::string> series;
    for (const absl::string_view line : absl::StrSplit(text, '\n')) {
      if (!line.empty() && line[0] != '#') series.emplace_back(line.substr(0, line.rfind(' ')));
    }
    std::sort(series.begin(), series.end());
    return series;
  };
  const std::string before = server->Metrics();
  EXPECT_THAT(before, HasSubstr("heed_requests_total{code=\"OK\",method=\"/heed.v1."
                                "ClassificationService/Classify\"} 0"));
  EXPECT_THAT(before, HasSubstr("heed_request_duration_seconds_bucket"));
  EXPECT_THAT(before, HasSubstr("process_resident_memory_bytes"));
  EXPECT_THAT(before, HasSubstr("heed_model_memory_bytes{kind=\"weights\",model=\"tiny\"}"));
  const auto client = Connect(server->address());
  ASSERT_TRUE(client->Classify(RequestOf("a b")).ok());
  v1::ClassifyRequest unknown = RequestOf("a");
  unknown.mutable_model()->set_name("nobody");
  EXPECT_FALSE(client->Classify(unknown).ok());
  const std::string after = server->Metrics();
  EXPECT_EQ(names(before), names(after));
  EXPECT_THAT(after, HasSubstr("heed_requests_total{code=\"OK\",method=\"/heed.v1."
                               "ClassificationService/Classify\"} 1"));
}

TEST(LifecycleTest, AClientThatRetriesOutlivesAKilledServer) {
  const std::string listen = absl::StrCat("--listen=127.0.0.1:", testing::FreePort());
  auto server = ServerProcess::Start({kTiny, listen});
  ASSERT_NE(server, nullptr);
  const auto client = Connect(server->address());
  ASSERT_TRUE(client->Classify(RequestOf("a")).ok());
  server->Signal(SIGKILL);
  EXPECT_EQ(server->Wait(), -SIGKILL);
  const auto refused = client->Classify(RequestOf("a"), {.deadline = absl::Seconds(2)});
  EXPECT_THAT(refused.status().code(),
              AnyOf(absl::StatusCode::kUnavailable, absl::StatusCode::kDeadlineExceeded));
  server = ServerProcess::Start({kTiny, listen});
  ASSERT_NE(server, nullptr);
  absl::Status status = absl::UnknownError("not tried");
  for (int i = 0; i < 20 && !status.ok(); ++i) status = client->Classify(RequestOf("a")).status();
  EXPECT_TRUE(status.ok()) << status;
}

TEST(LifecycleTest, DrainAnswersWhatWasAccepted) {
  const auto server = ServerProcess::Start({kSentiment});
  ASSERT_NE(server, nullptr);
  const auto client = Connect(server->address());
  v1::ClassifyRequest request;
  for (int i = 0; i < 1500; ++i) request.add_inputs()->set_text("A film about nothing at all.");
  absl::StatusOr<v1::ClassifyResponse> response = absl::UnknownError("not called");
  std::thread caller([&] { response = client->Classify(request); });
  // The signal must find the request inside: its texts are counted once they wait or run.
  while (server->Metrics().find("heed_queue_texts{model=\"sentiment\"} 0") != std::string::npos) {
    std::this_thread::yield();
  }
  server->Signal(SIGTERM);
  caller.join();
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->results_size(), 1500);
  EXPECT_EQ(server->Wait(), 0);
  EXPECT_THAT(server->Log(), HasSubstr("drained"));
}

TEST(LifecycleTest, DrainDoesNotWaitForCompany) {
  const auto server = ServerProcess::Start({kTiny, "--max-queue-delay=1h", "--queue-timeout=2h"});
  ASSERT_NE(server, nullptr);
  const auto client = Connect(server->address());
  absl::StatusOr<v1::ClassifyResponse> response = absl::UnknownError("not called");
  std::thread caller([&] { response = client->Classify(RequestOf("a")); });
  while (server->Metrics().find("heed_queue_texts{model=\"tiny\"} 1") == std::string::npos) {
    std::this_thread::yield();
  }
  server->Signal(SIGTERM);
  caller.join();
  EXPECT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(server->Wait(), 0);
}

TEST(LifecycleTest, TwoServersDoNotShareAPort) {
  const auto first = ServerProcess::Start({kTiny});
  ASSERT_NE(first, nullptr);
  const CommandResult second = RunShell(absl::StrCat(HEED_SERVER_PROGRAM, " ", kTiny, " --listen ",
                                                     first->address(), " --metrics-listen off"));
  EXPECT_EQ(second.exit_code, 1);
  EXPECT_THAT(second.output, HasSubstr("cannot listen on " + first->address()));
}

TEST(StartUpTest, SaysWhatIsWrongAndEnds) {
  const auto start = [](const std::string& arguments) {
    return RunShell(absl::StrCat(HEED_SERVER_PROGRAM, " --listen 127.0.0.1:0 --metrics-listen off ",
                                 arguments));
  };
  const CommandResult missing = start("--model x=/nonexistent");
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_THAT(missing.output, HasSubstr("/nonexistent"));
  const CommandResult cuda = start(absl::StrCat(kTiny, " --device cuda"));
  EXPECT_NE(cuda.exit_code, 0);
  EXPECT_THAT(cuda.output, HasSubstr("--device"));
  EXPECT_THAT(start("").output, HasSubstr("--model"));
}

TEST(StartUpTest, ServesInThePrecisionThatIsAskedFor) {
  std::vector<double> scores;
  for (const char* precision : {"fp32", "bf16"}) {
    const auto server = ServerProcess::Start({kTiny, absl::StrCat("--precision=", precision)});
    ASSERT_NE(server, nullptr);
    const std::string heed = absl::StrCat(HEED_PROGRAM, " --server ", server->address());
    const CommandResult model = RunShell(heed + " models --json tiny");
    ASSERT_EQ(model.exit_code, 0) << model.output;
    EXPECT_EQ(json::parse(model.output)["precision"], precision);
    const CommandResult result = RunShell(heed + " classify --json 'the winter token'");
    ASSERT_EQ(result.exit_code, 0) << result.output;
    scores.push_back(json::parse(result.output)["labels"][0]["score"]);
  }
  EXPECT_NE(scores[0], scores[1]);  // it rounds
  EXPECT_NEAR(scores[0], scores[1], 0.1);
}

TEST(StartUpTest, PrintsWhoDecidedEachSetting) {
  const std::string config = ::testing::TempDir() + "/heed.toml";
  std::ofstream(config) << "max-batch-texts = 7\nqueue-timeout = \"9s\"\nthreads = 1\n";
  setenv("HEED_QUEUE_TIMEOUT", "8s", 1);
  setenv("HEED_THREADS", "2", 1);
  const auto server = ServerProcess::Start({kTiny, "--config=" + config, "--threads=1"});
  unsetenv("HEED_QUEUE_TIMEOUT");
  unsetenv("HEED_THREADS");
  ASSERT_NE(server, nullptr);
  EXPECT_THAT(server->Log(), HasSubstr("max-batch-texts = 7 (file)"));
  EXPECT_THAT(server->Log(), HasSubstr("queue-timeout = 8s (environment)"));
  EXPECT_THAT(server->Log(), HasSubstr("threads = 1 (flag)"));
}

}  // namespace
}  // namespace heed
