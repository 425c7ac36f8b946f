// GetLayerProfile and GetPositionSimilarity over real gRPC.
#include <cmath>
#include <string>
#include <vector>

#include "tests/server/probe_fixture.h"
#include "tests/server/tensor_decoding.h"

namespace heed {
namespace {

class ServiceLayerProfileTest : public ProbeFixture {};
class ServiceSimilarityTest : public ProbeFixture {
 protected:
  static std::string Shape(const v1::Tensor& tensor) {
    std::string shape;
    for (const int64_t size : tensor.shape()) absl::StrAppend(&shape, size, " ");
    return shape;
  }
};

// The fake's scores hang on places alone.
TEST_F(ServiceLayerProfileTest, PositionsExplainTheFakesScores) {
  v1::GetLayerProfileResponse response;
  ASSERT_TRUE(Ask("inputs { text: 'a b c d e f g h i j k l' }", response).ok());
  EXPECT_EQ(response.model_name(), "plain");
  EXPECT_EQ(response.model_version(), "v1");
  ASSERT_EQ(response.layers_size(), 2);
  for (int layer = 0; layer < 2; ++layer) {
    const v1::LayerProfile& profile = response.layers(layer);
    EXPECT_EQ(profile.layer(), static_cast<uint32_t>(layer));
    ASSERT_EQ(profile.position_share_size(), 4);
    ASSERT_EQ(profile.content_share_size(), 4);
    for (int head = 0; head < 4; ++head) {
      EXPECT_NEAR(profile.position_share(head), 1, 0.02);
      EXPECT_NEAR(profile.content_share(head), 0, 0.02);
      EXPECT_LE(profile.position_share(head) + profile.content_share(head), 1 + 1e-6);
    }
  }
  size_t texts = 0;
  for (const RaggedBatch& batch : plain_->batches()) texts += batch.text_count();
  EXPECT_EQ(texts, 16U);
  for (const CaptureRequest& capture : plain_->reads().captures()) EXPECT_FALSE(capture.eager);
  EXPECT_EQ(attention_memory_->used(), 0U);
}

TEST_F(ServiceLayerProfileTest, SeveralTextsAndOrdersAreAskedForInTurn) {
  v1::GetLayerProfileResponse response;
  ASSERT_TRUE(Ask("model { name: 'pairs' } inputs { text: 'a b c' } "
                  "inputs { text: 'a b' text_pair: 'c d' } permutation_count: 3",
                  response)
                  .ok());
  std::vector<int64_t> lengths;
  for (const RaggedBatch& batch : pairs_->batches()) {
    for (size_t b = 0; b < batch.text_count(); ++b) lengths.push_back(batch.length(b));
  }
  EXPECT_EQ(lengths, std::vector<int64_t>({5, 5, 5, 7, 7, 7}));
  EXPECT_EQ(pairs_->reads().count(), 2U * 6U);  // layers, texts
}

TEST_F(ServiceLayerProfileTest, ModelsThatLabelTokensHaveOne) {
  v1::GetLayerProfileResponse response;
  EXPECT_TRUE(Ask("model { name: 'tokens' } inputs { text: 'a b c d' }", response).ok());
  EXPECT_EQ(response.layers_size(), 2);
}

TEST_F(ServiceLayerProfileTest, MoreOrdersThanAWaveLeaveNoSourceBehind) {
  v1::GetLayerProfileResponse response;
  ASSERT_TRUE(
      Ask("model { name: 'long' } inputs { text: 'a b c d e' } permutation_count: 256", response)
          .ok());
  EXPECT_EQ(long_->reads().captures().size(), 256U);
  EXPECT_EQ(attention_memory_->used(), 0U);
}

TEST_F(ServiceLayerProfileTest, AModelWithoutAttentionIsRefused) {
  const Error error = ProfileError("model { name: 'blind' } inputs { text: 'a b c d' }");
  EXPECT_EQ(error.code, grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(error.reason, "NO_ATTENTION");
  EXPECT_EQ(error.metadata.at("architecture"), "fake");
}

TEST_F(ServiceLayerProfileTest, ErrorsNameTheirFields) {
  const auto field = [&](const std::string& request) {
    const Error error = ProfileError(request);
    EXPECT_EQ(error.code, grpc::StatusCode::INVALID_ARGUMENT);
    return error.reason + " " + (error.fields.empty() ? "" : error.fields[0]);
  };
  const std::string good = "inputs { text: 'a b c' } ";
  EXPECT_EQ(field(""), "EMPTY_INPUTS inputs");
  EXPECT_EQ(field(good + "permutation_count: 1"), "OUT_OF_RANGE permutation_count");
  EXPECT_EQ(field(good + "permutation_count: 257"), "OUT_OF_RANGE permutation_count");
  EXPECT_EQ(field(good + "inputs { text: 'a b' }"), "TOO_FEW_TOKENS inputs[1].text");
  EXPECT_EQ(field(good + "inputs { text: 'a' text_pair: 'b' }"),
            "PAIR_NOT_SUPPORTED inputs[1].text_pair");
  EXPECT_EQ(field("inputs { text: 'a a a a a a a a a a a a a a a' }"),
            "TOO_MANY_TOKENS inputs[0].text");
  std::string many;
  for (int i = 0; i < 65; ++i) many += good;
  EXPECT_EQ(field(many), "TOO_MANY_INPUTS inputs");
  std::string words;
  for (int i = 0; i < 1400; ++i) words += "a ";
  EXPECT_EQ(field("model { name: 'long' } inputs { text: '" + words + "' }"),
            "TEXT_TOO_LONG_FOR_PROFILE inputs[0].text");
}

class CrampedLayerProfileTest : public ProbeFixture {
 protected:
  CrampedLayerProfileTest() { attention_memory_bytes_ = 100000; }
};

TEST_F(CrampedLayerProfileTest, ItsMemoryIsReserved) {
  v1::GetLayerProfileResponse response;
  EXPECT_TRUE(Ask("inputs { text: 'a b c d e f' }", response).ok());
  auto held = attention_memory_->TryReserve(99000);
  const Error full = ProfileError("inputs { text: 'a b c d e f' }");
  EXPECT_EQ(full.code, grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(full.reason, "ATTENTION_MEMORY");
  EXPECT_TRUE(full.retry);
  held.reset();
  std::string words;
  for (int i = 0; i < 60; ++i) words += "a ";
  const Error large = ProfileError("model { name: 'long' } inputs { text: '" + words + "' }");
  EXPECT_EQ(large.code, grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(large.reason, "ATTENTION_TOO_LARGE");
  EXPECT_EQ(large.fields, Strings{"inputs[0].text"});
  EXPECT_TRUE(Ask("inputs { text: 'a b c d e f' }", response).ok());
  EXPECT_EQ(attention_memory_->used(), 0U);
}

TEST_F(ServiceSimilarityTest, MatricesAreThoseOfTheModel) {
  v1::GetPositionSimilarityResponse response;
  ASSERT_TRUE(Ask("position_count: 3", response).ok());
  EXPECT_EQ(response.model_name(), "plain");
  EXPECT_EQ(response.model_version(), "v1");
  EXPECT_EQ(response.encoding(), "learned");
  EXPECT_EQ(response.similarity().type(), v1::TENSOR_TYPE_FLOAT32);
  EXPECT_EQ(Shape(response.similarity()), "3 3 ");
  EXPECT_EQ(DecodeTensor(response.similarity()),
            std::vector<double>({0, -1, -2, 1, 0, -1, 2, 1, 0}));
  ASSERT_TRUE(Ask("position_count: 2 layer: 1 encoding: 'bias'", response).ok());
  EXPECT_EQ(response.encoding(), "bias");
  EXPECT_EQ(Shape(response.similarity()), "4 2 2 ");
  EXPECT_EQ(DecodeTensor(response.similarity())[4], 110);
}

TEST_F(ServiceSimilarityTest, NegativeLayersCountFromTheEnd) {
  v1::GetPositionSimilarityResponse response;
  ASSERT_TRUE(Ask("position_count: 1 layer: -1", response).ok());
  EXPECT_EQ(DecodeTensor(response.similarity())[0], 10);
  ASSERT_TRUE(Ask("position_count: 1 layer: -2", response).ok());
  EXPECT_EQ(DecodeTensor(response.similarity())[0], 0);
}

// 4 MiB hold 1023 positions, or half as many where each of four heads has a matrix.
TEST_F(ServiceSimilarityTest, ALargeOneFitsIntoAMessage) {
  v1::GetPositionSimilarityResponse response;
  EXPECT_TRUE(Ask("position_count: 1023", response).ok());
  EXPECT_TRUE(Ask("position_count: 511 encoding: 'bias'", response).ok());
  const Error one = SimilarityError("position_count: 1024");
  EXPECT_EQ(one.fields, Strings{"position_count"});
  EXPECT_EQ(one.metadata.at("maximum"), "1023");
  const Error four = SimilarityError("position_count: 512 encoding: 'bias'");
  EXPECT_EQ(four.reason, "OUT_OF_RANGE");
  EXPECT_EQ(four.fields, Strings{"position_count"});
  EXPECT_EQ(four.metadata.at("maximum"), "511");
}

TEST_F(ServiceSimilarityTest, ErrorsNameTheirFields) {
  const auto field = [&](const std::string& request) {
    const Error error = SimilarityError(request);
    EXPECT_EQ(error.code, grpc::StatusCode::INVALID_ARGUMENT);
    return error.reason + " " + (error.fields.empty() ? "" : error.fields[0]);
  };
  EXPECT_EQ(field(""), "OUT_OF_RANGE position_count");
  EXPECT_EQ(field("position_count: 4294967295"), "OUT_OF_RANGE position_count");
  EXPECT_EQ(field("position_count: 1 layer: 2"), "OUT_OF_RANGE layer");
  EXPECT_EQ(field("position_count: 1 layer: -3"), "OUT_OF_RANGE layer");
  EXPECT_EQ(field("position_count: 1 layer: -2147483648"), "OUT_OF_RANGE layer");
  EXPECT_EQ(field("position_count: 1 encoding: 'rope'"), "UNKNOWN_ENCODING encoding");
  EXPECT_EQ(SimilarityError("model { name: 'blind' } position_count: 1").reason, "NO_ATTENTION");
}

class LimitedSimilarityTest : public ProbeFixture {
 protected:
  LimitedSimilarityTest() { plain_->mutable_info().position_limit = 20; }
};

TEST_F(LimitedSimilarityTest, PositionsEndWithTheModels) {
  v1::GetPositionSimilarityResponse response;
  EXPECT_TRUE(Ask("position_count: 20", response).ok());
  const Error error = SimilarityError("position_count: 21");
  EXPECT_EQ(error.fields, Strings{"position_count"});
  EXPECT_EQ(error.metadata.at("maximum"), "20");
}

}  // namespace
}  // namespace heed
