// ProbePermutation, ProbeMasking and GetPositionSimilarity over real gRPC.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/server/probe_fixture.h"

namespace heed {
namespace {

class ServiceProbeTest : public ProbeFixture {};

// Two label scores that depend on the first word alone: "yes" wins where it has an even length.
RunOutput ByFirstWord(const RaggedBatch& batch) {
  RunOutput output;
  for (size_t text = 0; text < batch.text_count(); ++text) {
    const bool yes = batch.ids[static_cast<size_t>(batch.cu_seqlens[text]) + 1] % 2 == 0;
    output.logits.insert(output.logits.end(), {0, yes ? 1.0F : -1.0F});
    output.scores.insert(output.scores.end(), {yes ? 0.25F : 0.75F, yes ? 0.75F : 0.25F});
  }
  return output;
}

TEST_F(ServiceProbeTest, PermutationsAreOrdersOfTheText) {
  v1::ProbePermutationResponse response;
  ASSERT_TRUE(Ask("input { text: 'a bb ccc dddd' } permutation_count: 20", response).ok());
  EXPECT_EQ(response.permuted_size(), 20);
  EXPECT_EQ(response.model_name(), "plain");
  EXPECT_EQ(response.model_version(), "v1");
  EXPECT_EQ(response.original().usage().token_count(), 6U);
  const std::vector<std::vector<int64_t>> texts = Texts(*plain_);
  ASSERT_EQ(texts.size(), 21U);
  EXPECT_EQ(texts[0], std::vector<int64_t>({1, 11, 12, 13, 14, 2}));
  for (const std::vector<int64_t>& text : texts) {
    EXPECT_EQ(text.front(), 1);
    EXPECT_EQ(text.back(), 2);
    EXPECT_TRUE(std::is_permutation(text.begin(), text.end(), texts[0].begin()));
  }
  EXPECT_GT(std::set(texts.begin(), texts.end()).size(), 5U);
  // The fake adds up ids, so that no order matters to it; and no hidden state moves but by a
  // quarter of how far its token did, at most three places.
  EXPECT_EQ(response.label_agreement(), 1);
  EXPECT_FLOAT_EQ(response.permuted(7).labels(0).score(), response.original().labels(0).score());
  EXPECT_EQ(response.equivariance_error(), 0.75F);
}

TEST_F(ServiceProbeTest, AgreementCountsTheOriginalsLabel) {
  plain_->SetBehaviour(ByFirstWord);
  v1::ProbePermutationResponse response;
  ASSERT_TRUE(Ask("input { text: 'aa b c d' } permutation_count: 200", response).ok());
  EXPECT_EQ(response.original().labels(0).label(), "yes");
  int agreeing = 0;
  for (const v1::Classification& result : response.permuted()) {
    if (result.labels(0).label() == "yes") ++agreeing;
  }
  EXPECT_FLOAT_EQ(response.label_agreement(), static_cast<float>(agreeing) / 200);
  EXPECT_NEAR(response.label_agreement(), 0.25, 0.15);
}

TEST_F(ServiceProbeTest, ASeedDecidesTheOrders) {
  const std::string request = "input { text: 'a bb ccc dddd eeeee' } permutation_count: 5 seed: ";
  v1::ProbePermutationResponse response;
  std::vector<std::vector<std::vector<int64_t>>> runs;
  for (const char* const seed : {"1", "1", "2"}) {
    const size_t before = Texts(*plain_).size();
    ASSERT_TRUE(Ask(request + seed, response).ok());
    std::vector<std::vector<int64_t>> texts = Texts(*plain_);
    runs.emplace_back(texts.begin() + static_cast<int64_t>(before), texts.end());
  }
  EXPECT_EQ(runs[0], runs[1]);
  EXPECT_NE(runs[0], runs[2]);
}

// More than a wave holds: each answer still belongs to its order.
TEST_F(ServiceProbeTest, MoreOrdersThanAWave) {
  long_->SetBehaviour(ByFirstWord);
  v1::ProbePermutationResponse response;
  ASSERT_TRUE(
      Ask("model { name: 'long' } input { text: 'aa b c ddd' } permutation_count: 300", response)
          .ok());
  const std::vector<std::vector<int64_t>> texts = Texts(*long_);
  ASSERT_EQ(texts.size(), 301U);
  ASSERT_EQ(response.permuted_size(), 300);
  for (int i = 0; i < 300; ++i) {
    const bool yes = texts[static_cast<size_t>(i) + 1][1] % 2 == 0;
    EXPECT_EQ(response.permuted(i).labels(0).label(), yes ? "yes" : "no") << i;
  }
  for (const RaggedBatch& batch : long_->batches()) EXPECT_LE(batch.text_count(), 64U);
}

// A queue that holds two of its texts at once.
TEST_F(ServiceProbeTest, WavesFitIntoTheQueue) {
  v1::ProbePermutationResponse response;
  const grpc::Status status = Ask(
      "model { name: 'narrow' } input { text: 'a b c d e f g' } permutation_count: 10", response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.permuted_size(), 10);
  const Error error = PermutationError(
      "model { name: 'narrow' } input { text: 'a a a a a a a a a a a a a a a a a a a a a' } "
      "permutation_count: 1");
  EXPECT_EQ(error.reason, "REQUEST_TOO_LARGE");
  EXPECT_EQ(error.fields, Strings{"input"});
}

TEST_F(ServiceProbeTest, PairsKeepTheirTexts) {
  v1::ProbePermutationResponse response;
  ASSERT_TRUE(Ask("model { name: 'pairs' } input { text: 'a bb' text_pair: 'ccc dddd' } "
                  "permutation_count: 30",
                  response)
                  .ok());
  for (const std::vector<int64_t>& text : Texts(*pairs_)) {
    EXPECT_EQ(text[1] + text[2], 23);
    EXPECT_EQ(text[4] + text[5], 27);
  }
}

TEST_F(ServiceProbeTest, AModelWithoutAttentionHasNoEquivarianceError) {
  v1::ProbePermutationResponse response;
  ASSERT_TRUE(
      Ask("model { name: 'blind' } input { text: 'a bb' } permutation_count: 3", response).ok());
  EXPECT_EQ(response.label_agreement(), 1);
  EXPECT_TRUE(std::isnan(response.equivariance_error()));
}

TEST_F(ServiceProbeTest, PermutationErrorsNameTheirFields) {
  const auto field = [&](const std::string& request) {
    const Error error = PermutationError(request);
    EXPECT_EQ(error.code, grpc::StatusCode::INVALID_ARGUMENT);
    return error.reason + " " + (error.fields.empty() ? "" : error.fields[0]);
  };
  const std::string count = " permutation_count: 1";
  EXPECT_EQ(field("input { text: 'a' }"), "OUT_OF_RANGE permutation_count");
  EXPECT_EQ(field("input { text: 'a' } permutation_count: 1025"), "OUT_OF_RANGE permutation_count");
  EXPECT_EQ(field(count), "EMPTY_INPUTS input");
  EXPECT_EQ(field("input { text: 'a' text_pair: 'b' }" + count),
            "PAIR_NOT_SUPPORTED input.text_pair");
  EXPECT_EQ(field("input { text: 'a a a a a a a a a a a a a a a' }" + count),
            "TOO_MANY_TOKENS input.text");
  EXPECT_EQ(field("input { text: '" + std::string(2 << 20, 'a') + "' }" + count),
            "TEXT_TOO_LARGE input.text");
  EXPECT_EQ(PermutationError("model { name: 'x' } input { text: 'a' }" + count).code,
            grpc::StatusCode::NOT_FOUND);
}

TEST_F(ServiceProbeTest, ModelsThatLabelTokensAreRefused) {
  const Error permutation =
      PermutationError("model { name: 'tokens' } input { text: 'a' } permutation_count: 1");
  EXPECT_EQ(permutation.code, grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(permutation.reason, "TASK_NOT_SUPPORTED");
  EXPECT_EQ(permutation.metadata.at("task"), "token_classification");
  EXPECT_EQ(MaskingError("model { name: 'tokens' } input { text: 'a' } fractions: 0.5 "
                         "repeat_count: 1")
                .reason,
            "TASK_NOT_SUPPORTED");
}

// What the model fails with reaches the caller, from any wave.
TEST_F(ServiceProbeTest, AFailingModelFailsTheProbe) {
  std::atomic<int> texts = 0;
  long_->SetBehaviour([&](const RaggedBatch& batch) -> absl::StatusOr<RunOutput> {
    texts += static_cast<int>(batch.text_count());
    if (texts > 100) return absl::ResourceExhaustedError("no memory");
    return FakeRunner::Compute(batch);
  });
  v1::ProbePermutationResponse response;
  const grpc::Status status =
      Ask("model { name: 'long' } input { text: 'a b c' } permutation_count: 300", response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_LE(texts, 128);
}

TEST_F(ServiceProbeTest, CancelledProbesStop) {
  long_->Close();
  grpc::ClientContext context;
  std::thread caller([&] {
    v1::ProbePermutationRequest request;
    Parse("model { name: 'long' } input { text: 'a b c' } permutation_count: 1000", request);
    v1::ProbePermutationResponse response;
    EXPECT_EQ(probe_->ProbePermutation(&context, request, &response).error_code(),
              grpc::StatusCode::CANCELLED);
  });
  long_->AwaitRuns(1);
  context.TryCancel();
  caller.join();
  AwaitMetric(
      "heed_requests_total{code=\"CANCELLED\",method=\"/heed.v1.ProbeService/ProbePermutation\"} "
      "1");
  long_->Open();
  // The next call finds nothing of it in the queue.
  v1::ProbePermutationResponse response;
  ASSERT_TRUE(
      Ask("model { name: 'long' } input { text: 'a b c' } permutation_count: 1", response).ok());
  EXPECT_LE(Texts(*long_).size(), 64U + 2U);
}

TEST_F(ServiceProbeTest, DeadlinesEndProbes) {
  long_->Close();
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(50));
  v1::ProbeMaskingRequest request;
  Parse("model { name: 'long' } input { text: 'a b c' } fractions: 0.5 repeat_count: 1000",
        request);
  v1::ProbeMaskingResponse response;
  EXPECT_EQ(probe_->ProbeMasking(&context, request, &response).error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);
  // The server ends it by its own clock, or because the client has gone.
  const auto ended = [&](const std::string& code) {
    return MetricsText().find("heed_requests_total{code=\"" + code +
                              "\",method=\"/heed.v1.ProbeService/ProbeMasking\"} 1") !=
           std::string::npos;
  };
  while (!ended("DEADLINE_EXCEEDED") && !ended("CANCELLED")) std::this_thread::yield();
  long_->Open();
  v1::ProbePermutationResponse next;
  ASSERT_TRUE(Ask("model { name: 'long' } input { text: 'a' } permutation_count: 1", next).ok());
  EXPECT_LE(Texts(*long_).size(), 64U + 2U);
}

}  // namespace
}  // namespace heed
