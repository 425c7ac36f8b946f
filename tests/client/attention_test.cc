// Client::GetAttention and the probes against the fake server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "client/client.h"
#include "client/rpc_error.h"
#include "tests/client/fake_server.h"

namespace heed {
namespace {

using ::testing::ElementsAre;
using testing::FakeServer;
using testing::FakeWeight;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::SizeIs;

class AttentionTest : public ::testing::Test {
 protected:
  AttentionTest() : client_(*Client::Create(server_.address())) {
    request_.mutable_input()->set_text("one two three");
  }

  AttentionData Get() {
    absl::StatusOr<AttentionData> data = client_->GetAttention(request_);
    EXPECT_TRUE(data.ok()) << data.status();
    return data.ok() ? *std::move(data) : AttentionData();
  }

  FakeServer server_;
  std::unique_ptr<Client> client_;
  v1::GetAttentionRequest request_;
};

TEST_F(AttentionTest, PutsTheTilesTogether) {
  const AttentionData data = Get();
  ASSERT_THAT(data.header.shape(), ElementsAre(3, 2, 5, 5));
  EXPECT_THAT(data.columns, SizeIs(0));
  for (uint32_t layer = 0; layer < 3; ++layer) {
    for (uint32_t head = 0; head < 2; ++head) {
      for (uint32_t row = 0; row < 5; ++row) {
        for (uint32_t column = 0; column < 5; ++column) {
          EXPECT_EQ(data.at(layer, head, row, column), FakeWeight(layer, head, row, column, 5));
        }
      }
    }
  }
}

TEST_F(AttentionTest, KeepsTheOrderOfTheSelectors) {
  request_.mutable_layers()->add_indices(-1);
  request_.mutable_layers()->add_indices(0);
  request_.mutable_query_rows()->add_indices(3);
  auto* const range = request_.mutable_query_rows()->add_ranges();
  range->set_start(0);
  range->set_end(2);
  const AttentionData data = Get();
  ASSERT_THAT(data.header.shape(), ElementsAre(2, 2, 3, 5));
  EXPECT_EQ(data.at(0, 1, 0, 4), FakeWeight(2, 1, 3, 4, 5));
  EXPECT_EQ(data.at(1, 0, 2, 1), FakeWeight(0, 0, 1, 1, 5));
}

TEST_F(AttentionTest, DecodesHalvesAndBytes) {
  for (const auto& [type, error] : {std::pair(v1::TENSOR_TYPE_FLOAT16, 0.0004f),
                                    std::pair(v1::TENSOR_TYPE_UINT8, 0.75f / 255.0f)}) {
    request_.set_type(type);
    const AttentionData data = Get();
    ASSERT_THAT(data.weights, SizeIs(150));
    EXPECT_NEAR(data.at(2, 1, 4, 0), FakeWeight(2, 1, 4, 0, 5), error);
    EXPECT_NEAR(data.at(1, 0, 3, 3), FakeWeight(1, 0, 3, 3, 5), error);
  }
}

TEST_F(AttentionTest, TopKHasTheColumnsOfTheWeights) {
  request_.set_top_k(2);
  const AttentionData data = Get();
  ASSERT_THAT(data.header.shape(), ElementsAre(3, 2, 5, 2));
  EXPECT_EQ(data.columns[data.offset(2, 1, 1, 0)], 2u);
  EXPECT_EQ(data.columns[data.offset(2, 1, 1, 1)], 0u);
  EXPECT_EQ(data.at(2, 1, 1, 1), FakeWeight(2, 1, 1, 0, 5));
}

TEST_F(AttentionTest, ReductionsTakeDimensionsAway) {
  const std::vector<std::pair<v1::AttentionReduction, std::vector<int64_t>>> cases = {
      {v1::ATTENTION_REDUCTION_MEAN_HEADS, {3, 1, 5, 5}},
      {v1::ATTENTION_REDUCTION_ROLLOUT, {1, 1, 5, 5}},
      {v1::ATTENTION_REDUCTION_FLOW, {1, 1, 5, 5}},
      {v1::ATTENTION_REDUCTION_ENTROPY, {3, 2, 5, 1}},
      {v1::ATTENTION_REDUCTION_MEAN_DISTANCE, {3, 2, 5, 1}}};
  for (const auto& [reduction, shape] : cases) {
    request_.set_reduction(reduction);
    const AttentionData data = Get();
    EXPECT_EQ(std::vector<int64_t>(data.header.shape().begin(), data.header.shape().end()), shape);
    EXPECT_EQ(data.reduction, reduction);
  }
}

TEST_F(AttentionTest, TellsTheProgressInBytes) {
  std::vector<std::pair<uint64_t, uint64_t>> seen;
  request_.mutable_layers()->add_indices(0);
  request_.mutable_heads()->add_indices(0);
  const auto data = client_->GetAttention(
      request_, [&](uint64_t received, uint64_t total) { seen.emplace_back(received, total); });
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_THAT(seen, ElementsAre(Pair(0, 100), Pair(40, 100), Pair(80, 100), Pair(100, 100)));
}

TEST_F(AttentionTest, AnAnswerThatEndsEarlyIsAnError) {
  request_.mutable_input()->set_text("short");
  const absl::Status status = client_->GetAttention(request_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), HasSubstr("1 of 18 rows did not come"));
}

TEST_F(AttentionTest, RefusesMoreThanTheLimitWhenItIsAnnounced) {
  ClientOptions options;
  options.max_attention_bytes = 599;
  const auto client = Client::Create(server_.address(), options);
  EXPECT_EQ((*client)->GetAttention(request_).status().code(),
            absl::StatusCode::kResourceExhausted);
  options.max_attention_bytes = 600;
  EXPECT_TRUE((*Client::Create(server_.address(), options))->GetAttention(request_).ok());
}

TEST_F(AttentionTest, TriesAgainWhenNothingHasComeYet) {
  server_.attention().QueueStatus(grpc::Status(grpc::StatusCode::UNAVAILABLE, ""));
  server_.attention().QueueStatus(testing::MakeStatus({.code = grpc::StatusCode::RESOURCE_EXHAUSTED,
                                                       .reason = "QUEUE_FULL",
                                                       .retry_delay_seconds = 0.001}));
  Get();
  EXPECT_THAT(server_.attention().requests(), SizeIs(3));
}

TEST_F(AttentionTest, GivesTheReasonOfTheServer) {
  request_.mutable_input()->set_text("none");
  const absl::Status status = client_->GetAttention(request_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(GetRpcErrorDetails(status).reason, "NO_ATTENTION");
}

TEST_F(AttentionTest, ProbesArrive) {
  v1::ProbePermutationRequest permutation;
  permutation.set_permutation_count(4);
  EXPECT_THAT(client_->ProbePermutation(permutation)->permuted(), SizeIs(4));
  v1::ProbeMaskingRequest masking;
  masking.add_fractions(0.5f);
  EXPECT_THAT(client_->ProbeMasking(masking)->results(), SizeIs(1));
  EXPECT_THAT(client_->GetLayerProfile({})->layers(), SizeIs(3));
  v1::GetPositionSimilarityRequest similarity;
  similarity.set_position_count(3);
  EXPECT_THAT(client_->GetPositionSimilarity(similarity)->similarity().shape(), ElementsAre(3, 3));
}

}  // namespace
}  // namespace heed
