// What Classify does besides classifying: one importance a token, and positions of the caller.
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/server/service_fixture.h"

namespace heed {
namespace {

class ServiceImportanceTest : public ServiceFixture {};
class ServicePositionsTest : public ServiceFixture {
 protected:
  ServicePositionsTest() { plain_->mutable_info().position_limit = 16; }
};

using Ints = std::vector<int64_t>;

TEST_F(ServiceImportanceTest, OneNumberAToken) {
  v1::ClassifyRequest request = Request({"ab", "abc de"});
  v1::ClassifyResponse plain;
  ASSERT_TRUE(Classify(request, plain).ok());
  for (const auto& [wire, kind] :
       {std::pair(v1::IMPORTANCE_ROLLOUT_CLS, Importance::kRolloutCls),
        std::pair(v1::IMPORTANCE_MEAN_LAST_LAYER_CLS, Importance::kMeanLastLayerCls)}) {
    request.set_importance(wire);
    v1::ClassifyResponse response;
    ASSERT_TRUE(Classify(request, response).ok());
    for (int i = 0; i < 2; ++i) {
      const v1::Classification& result = response.results(i);
      ASSERT_EQ(result.tokens_size(), i + 3);
      EXPECT_EQ(result.tokens(1).piece(), i == 0 ? "ab" : "abc");
      EXPECT_EQ(
          std::vector<float>(result.token_importance().begin(), result.token_importance().end()),
          FakeImportance(kind, i + 3));
      // Asking for it does not change the answer.
      EXPECT_EQ(result.labels(0).score(), plain.results(i).labels(0).score());
    }
  }
  EXPECT_EQ(plain.results(0).tokens_size(), 0);
  EXPECT_EQ(plain.results(0).token_importance_size(), 0);
}

TEST_F(ServiceImportanceTest, TokenModelsHaveItToo) {
  v1::ClassifyRequest request = Request({"one five"});
  request.mutable_model()->set_name("tokens");
  request.set_importance(v1::IMPORTANCE_ROLLOUT_CLS);
  v1::ClassifyResponse response;
  ASSERT_TRUE(Classify(request, response).ok());
  EXPECT_EQ(response.results(0).entities_size(), 1);
  EXPECT_EQ(response.results(0).token_importance_size(), 4);
}

TEST_F(ServiceImportanceTest, ModelWithoutAttentionIsAFailedPrecondition) {
  v1::ClassifyRequest request = Request({"a"});
  request.mutable_model()->set_name("blind");
  v1::ClassifyResponse response;
  EXPECT_TRUE(Classify(request, response).ok());
  request.set_importance(v1::IMPORTANCE_ROLLOUT_CLS);
  const Error error = ClassifyError(request);
  EXPECT_EQ(error.code, grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(error.reason, "NO_ATTENTION");
  EXPECT_EQ(error.metadata.at("field"), "importance");
}

TEST_F(ServicePositionsTest, OverridesReachTheModel) {
  v1::ClassifyRequest request = Request({"a", "a b"});
  v1::ClassifyResponse response;
  request.mutable_position_override();
  ASSERT_TRUE(Classify(request, response).ok());
  EXPECT_EQ(plain_->batches().back().positions, Ints({0, 1, 2, 0, 1, 2, 3}));
  request.mutable_position_override()->set_offset(12);
  ASSERT_TRUE(Classify(request, response).ok());
  EXPECT_EQ(plain_->batches().back().positions, Ints({12, 13, 14, 12, 13, 14, 15}));
  request.mutable_position_override()->set_disabled(true);
  ASSERT_TRUE(Classify(request, response).ok());
  EXPECT_FALSE(plain_->batches().back().has_positions(1));
  request = Request({"a"});
  for (const int64_t position : {9, 0, 9}) {
    request.mutable_position_override()->mutable_positions()->add_positions(position);
  }
  ASSERT_TRUE(Classify(request, response).ok());
  EXPECT_EQ(plain_->batches().back().positions, Ints({9, 0, 9}));
}

TEST_F(ServicePositionsTest, PositionsThatDoNotFitAreInvalid) {
  v1::ClassifyRequest request = Request({"a", "a b"});
  request.mutable_position_override()->set_offset(13);
  Error error = ClassifyError(request);
  EXPECT_EQ(error.code, grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(error.reason, "POSITION_OUT_OF_RANGE");
  EXPECT_EQ(error.fields, std::vector<std::string>({"position_override.offset"}));
  EXPECT_EQ(error.metadata.at("limit"), "16");
  request.mutable_position_override()->mutable_positions()->add_positions(0);
  error = ClassifyError(request);
  EXPECT_EQ(error.reason, "SINGLE_INPUT_NEEDED");
  request.mutable_inputs()->RemoveLast();
  error = ClassifyError(request);
  EXPECT_EQ(error.reason, "POSITION_COUNT");
  EXPECT_EQ(error.metadata.at("tokenCount"), "3");
  EXPECT_TRUE(plain_->batches().empty());
}

}  // namespace
}  // namespace heed
