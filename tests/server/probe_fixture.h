// What tests of ProbeService share: requests as text, and their answers or errors.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "google/protobuf/text_format.h"
#include "heed/v1/probe.grpc.pb.h"
#include "tests/server/service_fixture.h"

namespace heed {

// The ids of every text that ran, in order.
inline std::vector<std::vector<int64_t>> Texts(const FakeRunner& runner) {
  std::vector<std::vector<int64_t>> texts;
  for (const RaggedBatch& batch : runner.batches()) {
    for (size_t b = 0; b < batch.text_count(); ++b) {
      texts.emplace_back(batch.ids.begin() + batch.cu_seqlens[b],
                         batch.ids.begin() + batch.cu_seqlens[b + 1]);
    }
  }
  return texts;
}

// Adds the models "long", whose texts and queue have no limit worth mentioning, and "narrow", whose
// queue holds 20 tokens. The default model's queue holds a wave.
class ProbeFixture : public ServiceFixture {
 protected:
  using Strings = std::vector<std::string>;

  void SetUp() override {
    scheduler_limits_.max_queue_tokens = 20;
    AddModel("narrow", narrow_, false, 0);
    scheduler_limits_.max_queue_tokens = 1 << 20;
    AddModel("long", long_, false, 0);
    ServiceFixture::SetUp();
    probe_ = v1::ProbeService::NewStub(channel_);
  }

  void TearDown() override {
    long_->Open();
    ServiceFixture::TearDown();
  }

  // `text` in text format; the model is "plain" unless it names another.
  template <typename Request>
  static void Parse(const std::string& text, Request& request) {
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &request)) << text;
    if (!request.has_model()) request.mutable_model()->set_name("plain");
  }

  grpc::Status Ask(const std::string& text, v1::ProbePermutationResponse& response) {
    return Call(&v1::ProbeService::Stub::ProbePermutation, text, response);
  }
  grpc::Status Ask(const std::string& text, v1::ProbeMaskingResponse& response) {
    return Call(&v1::ProbeService::Stub::ProbeMasking, text, response);
  }
  grpc::Status Ask(const std::string& text, v1::GetLayerProfileResponse& response) {
    return Call(&v1::ProbeService::Stub::GetLayerProfile, text, response);
  }
  grpc::Status Ask(const std::string& text, v1::GetPositionSimilarityResponse& response) {
    return Call(&v1::ProbeService::Stub::GetPositionSimilarity, text, response);
  }

  // The error of a request that has one.
  template <typename Response>
  Error ErrorOf(const std::string& text) {
    Response response;
    const grpc::Status status = Ask(text, response);
    EXPECT_FALSE(status.ok()) << text;
    return status.ok() ? Error() : Read(status);
  }
  Error PermutationError(const std::string& text) {
    return ErrorOf<v1::ProbePermutationResponse>(text);
  }
  Error MaskingError(const std::string& text) { return ErrorOf<v1::ProbeMaskingResponse>(text); }
  Error ProfileError(const std::string& text) { return ErrorOf<v1::GetLayerProfileResponse>(text); }
  Error SimilarityError(const std::string& text) {
    return ErrorOf<v1::GetPositionSimilarityResponse>(text);
  }

  void AwaitMetric(const std::string& line) {
    while (MetricsText().find("\n" + line + "\n") == std::string::npos) std::this_thread::yield();
  }

  std::shared_ptr<FakeRunner> long_ = std::make_shared<FakeRunner>();
  std::shared_ptr<FakeRunner> narrow_ = std::make_shared<FakeRunner>();
  std::unique_ptr<v1::ProbeService::Stub> probe_;

 private:
  template <typename Request, typename Response>
  grpc::Status Call(grpc::Status (v1::ProbeService::Stub::*method)(grpc::ClientContext*,
                                                                   const Request&, Response*),
                    const std::string& text, Response& response) {
    Request request;
    Parse(text, request);
    grpc::ClientContext context;
    return (probe_.get()->*method)(&context, request, &response);
  }
};

}  // namespace heed
