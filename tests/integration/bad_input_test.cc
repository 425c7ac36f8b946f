// Inputs that a server must refuse, or must not, over a real connection: their status and details.
#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/client_unary_call.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/rpc_error.h"
#include "heed/v1/classification.grpc.pb.h"
#include "heed/v1/model.grpc.pb.h"
#include "model/checkpoint/safetensors.h"
#include "model/checkpoint/safetensors_writer.h"
#include "tests/integration/server_process.h"

namespace heed {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::ServerProcess;

// The golden BERT with one segment only: a model that takes no pairs.
std::string MakeModelWithoutPairs() {
  const fs::path from = "tests/golden/bert";
  const fs::path to = fs::path(::testing::TempDir()) / "heed-model-without-pairs";
  fs::create_directories(to);
  fs::copy_file(from / "tokenizer.json", to / "tokenizer.json",
                fs::copy_options::overwrite_existing);
  nlohmann::json config = nlohmann::json::parse(std::ifstream(from / "config.json"));
  config["type_vocab_size"] = 1;
  std::ofstream(to / "config.json") << config;
  const auto file = SafetensorsFile::Open((from / "model.safetensors").string());
  EXPECT_TRUE(file.ok()) << file.status();
  std::map<std::string, TensorView> tensors((*file)->tensors().begin(), (*file)->tensors().end());
  TensorView& segments = tensors.at("bert.embeddings.token_type_embeddings.weight");
  segments.data = segments.data.subspan(0, segments.data.size() / 2);
  segments.shape[0] = 1;
  EXPECT_TRUE(WriteSafetensors((to / "model.safetensors").string(), tensors).ok());
  return to.string();
}

class BadInputTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    server_ = ServerProcess::Start({"--model=sentiment=models/sentiment",
                                    "--model=tiny=tests/golden/bert",
                                    "--model=nopairs=" + MakeModelWithoutPairs()})
                  .release();
  }
  static void TearDownTestSuite() {
    delete server_;
    server_ = nullptr;
  }

  void SetUp() override {
    ASSERT_NE(server_, nullptr);
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    channel_ = grpc::CreateCustomChannel(server_->address(), grpc::InsecureChannelCredentials(),
                                         arguments);
    stub_ = v1::ClassificationService::NewStub(channel_);
  }

  // After every bad input the server must still answer a good one.
  void TearDown() override {
    v1::ClassifyRequest request;
    request.add_inputs()->set_text("a good film");
    v1::ClassifyResponse response;
    EXPECT_TRUE(Classify(request, response).ok());
  }

  absl::Status Classify(const v1::ClassifyRequest& request, v1::ClassifyResponse& response) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    return FromGrpcStatus(stub_->Classify(&context, request, &response));
  }

  absl::Status Classify(const v1::ClassifyRequest& request) {
    v1::ClassifyResponse response;
    return Classify(request, response);
  }

  // Sends bytes as they are: protobuf would not make a bad request.
  absl::Status Send(const std::string& method, const std::string& bytes) {
    const grpc::internal::RpcMethod rpc(method.c_str(), grpc::internal::RpcMethod::NORMAL_RPC);
    const grpc::Slice slice(bytes);
    const grpc::ByteBuffer request(&slice, 1);
    grpc::ByteBuffer response;
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    return FromGrpcStatus(
        grpc::internal::BlockingUnaryCall(channel_.get(), rpc, &context, request, &response));
  }

  static void ExpectError(const absl::Status& status, absl::StatusCode code,
                          const std::string& reason, const std::string& field) {
    EXPECT_EQ(status.code(), code) << status;
    const RpcErrorDetails details = GetRpcErrorDetails(status);
    EXPECT_EQ(details.domain, "heed.dev");
    EXPECT_EQ(details.reason, reason) << status;
    if (code == absl::StatusCode::kInvalidArgument) {
      ASSERT_EQ(details.field_violations.size(), 1u);
      EXPECT_EQ(details.field_violations[0].field, field);
    }
  }

  static ServerProcess* server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::ClassificationService::Stub> stub_;
};
ServerProcess* BadInputTest::server_ = nullptr;

TEST_F(BadInputTest, InvalidUtf8NamesItsField) {
  // inputs { text: "ok" } inputs { text: F0 80 }
  const std::string bytes("\x12\x04\x0a\x02ok\x12\x04\x0a\x02\xF0\x80");
  for (const char* method :
       {"/heed.v1.ClassificationService/Classify", "/heed.v1.ModelService/Tokenize"}) {
    ExpectError(Send(method, bytes), absl::StatusCode::kInvalidArgument, "INVALID_UTF8",
                "inputs[1].text");
  }
}

TEST_F(BadInputTest, BytesThatAreNoMessage) {
  EXPECT_EQ(GetRpcErrorDetails(Send("/heed.v1.ClassificationService/Classify", "\xFF\xFF")).reason,
            "MALFORMED_REQUEST");
}

TEST_F(BadInputTest, EmptyList) {
  ExpectError(Classify({}), absl::StatusCode::kInvalidArgument, "EMPTY_INPUTS", "inputs");
}

TEST_F(BadInputTest, EmptyTextIsAText) {
  v1::ClassifyRequest request;
  for (const char* text : {"", "a good film", ""}) request.add_inputs()->set_text(text);
  v1::ClassifyResponse response;
  ASSERT_TRUE(Classify(request, response).ok());
  ASSERT_EQ(response.results_size(), 3);
  EXPECT_EQ(response.results(0).usage().token_count(), 2u);  // [CLS] [SEP]
  EXPECT_EQ(response.results(0).labels(0).score(), response.results(2).labels(0).score());
}

TEST_F(BadInputTest, OneWordOfAMegabyteIsOneUnknownToken) {
  v1::ClassifyRequest request;
  request.add_inputs()->set_text(std::string(1 << 20, 'x'));
  v1::ClassifyResponse response;
  const absl::Status status = Classify(request, response);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(response.results(0).usage().token_count(), 3u);
  EXPECT_FALSE(response.results(0).usage().truncated());
}

TEST_F(BadInputTest, TextBeyondTheByteLimit) {
  v1::ClassifyRequest request;
  request.add_inputs()->set_text(std::string((2 << 20) + 1, 'x'));
  const absl::Status status = Classify(request);
  ExpectError(status, absl::StatusCode::kInvalidArgument, "TEXT_TOO_LARGE", "inputs[0].text");
  EXPECT_EQ(GetRpcErrorDetails(status).metadata["limit"], "2097152");
}

TEST_F(BadInputTest, RequestBeyondTheMessageLimit) {
  v1::ClassifyRequest request;
  for (int i = 0; i < 17; ++i) request.add_inputs()->set_text(std::string(1 << 20, 'x'));
  const absl::Status status = Classify(request);
  ExpectError(status, absl::StatusCode::kInvalidArgument, "MESSAGE_TOO_LARGE", "inputs");
  EXPECT_EQ(GetRpcErrorDetails(status).metadata["limit"], "16777216");
}

TEST_F(BadInputTest, TooManyTokensUnlessTruncationIsAllowed) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "film ";
  v1::ClassifyRequest request;
  request.add_inputs()->set_text(text);
  const absl::Status status = Classify(request);
  ExpectError(status, absl::StatusCode::kInvalidArgument, "TOO_MANY_TOKENS", "inputs[0].text");
  EXPECT_EQ(GetRpcErrorDetails(status).metadata["limit"], "512");
  request.set_long_text_policy(v1::LONG_TEXT_POLICY_TRUNCATE);
  v1::ClassifyResponse response;
  ASSERT_TRUE(Classify(request, response).ok());
  const v1::TokenUsage& usage = response.results(0).usage();
  EXPECT_TRUE(usage.truncated());
  EXPECT_EQ(usage.token_count(), 512u);
  EXPECT_EQ(usage.original_token_count(), 1002u);
}

TEST_F(BadInputTest, TenThousandTextsNameTheLimit) {
  v1::ClassifyRequest request;
  for (int i = 0; i < 10000; ++i) request.add_inputs()->set_text("fine");
  const absl::Status status = Classify(request);
  ExpectError(status, absl::StatusCode::kInvalidArgument, "TOO_MANY_INPUTS", "inputs");
  EXPECT_THAT(std::string(status.message()), HasSubstr("10000"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("4096"));
}

TEST_F(BadInputTest, AsManyTextsAsTheLimitAreAnsweredInOrder) {
  v1::ClassifyRequest request;
  request.mutable_model()->set_name("tiny");
  for (int i = 0; i < 4096; ++i) request.add_inputs()->set_text(i % 2 == 0 ? "a" : "a b c");
  v1::ClassifyResponse response;
  const absl::Status status = Classify(request, response);
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_EQ(response.results_size(), 4096);
  for (int i = 2; i < 4096; ++i) {
    ASSERT_EQ(response.results(i).usage().token_count(),
              response.results(i - 2).usage().token_count());
  }
  EXPECT_LT(response.results(0).usage().token_count(), response.results(1).usage().token_count());
}

TEST_F(BadInputTest, UnknownModel) {
  v1::ClassifyRequest request;
  request.mutable_model()->set_name("nobody");
  request.add_inputs()->set_text("x");
  const absl::Status status = Classify(request);
  ExpectError(status, absl::StatusCode::kNotFound, "MODEL_NOT_FOUND", "model.name");
  EXPECT_EQ(GetRpcErrorDetails(status).metadata["model"], "nobody");
}

TEST_F(BadInputTest, PairOnAModelWithoutPairs) {
  v1::ClassifyRequest request;
  request.mutable_model()->set_name("nopairs");
  v1::TextInput& input = *request.add_inputs();
  input.set_text("x");
  ASSERT_TRUE(Classify(request).ok());
  input.set_text_pair("y");
  ExpectError(Classify(request), absl::StatusCode::kInvalidArgument, "PAIR_NOT_SUPPORTED",
              "inputs[0].text_pair");
}

TEST_F(BadInputTest, FeaturesOfLaterVersionsAreRefusedByName) {
  v1::ClassifyRequest request;
  request.add_inputs()->set_text("x");
  request.set_long_text_policy(v1::LONG_TEXT_POLICY_CHUNK);
  const absl::Status status = Classify(request);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(GetRpcErrorDetails(status).reason, "FEATURE_NOT_AVAILABLE");
}

TEST_F(BadInputTest, MethodsOfLaterVersionsAreUnimplemented) {
  for (const char* method : {"/heed.v1.ClassificationService/ClassifyStream",
                             "/heed.v1.ClassificationService/Nobody", "/nobody.Service/Method"}) {
    const absl::Status status = Send(method, "");
    EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented) << method;
    EXPECT_EQ(GetRpcErrorDetails(status).metadata["method"], method);
  }
}

}  // namespace
}  // namespace heed
