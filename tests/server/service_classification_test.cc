// ClassificationService over real gRPC: results, and the status and details of each bad request.
#include <cmath>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/server/service_fixture.h"

namespace heed {
namespace {

class ServiceClassificationTest : public ServiceFixture {};

// With a model "wide" of 32 MiB of logits a token, and a longer queue.
class ServiceLargeReplyTest : public ServiceFixture {
 protected:
  void SetUp() override {
    scheduler_limits_.max_queue_tokens = 1000;
    wide_->LabelTokens();
    wide_->mutable_info().labels.resize(size_t{1} << 23);
    AddModel("wide", wide_, false);
    ServiceFixture::SetUp();
  }

  std::shared_ptr<FakeRunner> wide_ = std::make_shared<FakeRunner>();
};

TEST_F(ServiceClassificationTest, ClassifiesManyTextsInOrder) {
  v1::ClassifyRequest request = Request({"ab", "", "abc de"});
  request.set_return_logits(true);
  v1::ClassifyResponse response;
  ASSERT_TRUE(Classify(request, response).ok());
  EXPECT_EQ(response.model_name(), "plain");
  EXPECT_EQ(response.model_version(), "v1");
  ASSERT_EQ(response.results_size(), 3);
  // Ids: [CLS] = 1, [SEP] = 2, a word is its length + 10.
  EXPECT_EQ(response.results(0).logits(1), 1 + 12 + 2);
  EXPECT_EQ(response.results(1).logits(1), 1 + 2);
  EXPECT_EQ(response.results(2).logits(1), 1 + 13 + 12 + 2);
  EXPECT_EQ(response.results(0).labels(0).label(), "yes");
  EXPECT_EQ(response.results(0).labels(0).score(), 15.0f / 16);
  EXPECT_EQ(response.results(1).usage().token_count(), 2u);
  EXPECT_EQ(response.results(2).usage().chunk_count(), 1u);
  EXPECT_TRUE(response.results(0).timing().has_tokenize());
  EXPECT_TRUE(response.results(0).timing().has_queue());
  EXPECT_TRUE(response.results(0).timing().has_compute());
  EXPECT_TRUE(response.results(0).timing().has_serialize());
}

// A word of 3 letters has id 13 and label B-X, one of 4 I-X, one of 5 "O".
v1::ClassifyRequest TokenRequest(v1::ClassifyRequest request) {
  request.mutable_model()->set_name("tokens");
  return request;
}

TEST_F(ServiceClassificationTest, FindsEntities) {
  v1::ClassifyRequest request = TokenRequest(Request({"one five other", "one", ""}));
  v1::ClassifyResponse response;
  ASSERT_TRUE(Classify(request, response).ok());
  ASSERT_EQ(response.results_size(), 3);
  const v1::Classification& result = response.results(0);
  EXPECT_EQ(result.labels_size(), 0);
  EXPECT_EQ(result.logits_size(), 0);
  EXPECT_FALSE(result.has_token_logits());
  EXPECT_EQ(result.usage().token_count(), 5u);
  ASSERT_EQ(result.entities_size(), 1);
  EXPECT_EQ(result.entities(0).label(), "X");
  EXPECT_EQ(result.entities(0).score(), 0.75f);
  EXPECT_EQ(result.entities(0).start_byte(), 0u);
  EXPECT_EQ(result.entities(0).end_byte(), 8u);
  EXPECT_EQ(result.entities(0).end_char(), 8u);
  EXPECT_EQ(response.results(1).entities(0).end_byte(), 3u);
  EXPECT_EQ(response.results(2).entities_size(), 0);
  request.set_entity_aggregation(v1::ENTITY_AGGREGATION_NONE);
  ASSERT_TRUE(Classify(request, response).ok());
  ASSERT_EQ(response.results(0).entities_size(), 2);
  EXPECT_EQ(response.results(0).entities(1).label(), "I-X");
  EXPECT_EQ(response.results(0).entities(1).start_byte(), 4u);
  request.set_entity_aggregation(v1::ENTITY_AGGREGATION_FIRST);
  ASSERT_TRUE(Classify(request, response).ok());
  EXPECT_EQ(response.results(0).entities_size(), 1);
}

TEST_F(ServiceClassificationTest, EntitiesNameTheirTextOfAPair) {
  v1::ClassifyRequest request = TokenRequest(Request({"one"}));
  request.mutable_inputs(0)->set_text_pair("other five");
  v1::ClassifyResponse response;
  ASSERT_TRUE(Classify(request, response).ok());
  const v1::Classification& result = response.results(0);
  ASSERT_EQ(result.entities_size(), 2);
  EXPECT_EQ(result.entities(0).segment(), 0u);
  EXPECT_EQ(result.entities(1).segment(), 1u);
  EXPECT_EQ(result.entities(1).start_byte(), 6u);
  EXPECT_EQ(result.entities(1).end_byte(), 10u);
}

TEST_F(ServiceClassificationTest, TokenLogitsHaveARowForEachToken) {
  v1::ClassifyRequest request = TokenRequest(Request({"other", "a"}));
  request.set_return_logits(true);
  v1::ClassifyResponse response;
  ASSERT_TRUE(Classify(request, response).ok());
  EXPECT_EQ(response.results(0).logits_size(), 0);
  const v1::Tensor& tensor = response.results(0).token_logits();
  EXPECT_EQ(tensor.type(), v1::TENSOR_TYPE_FLOAT32);
  ASSERT_EQ(tensor.shape_size(), 2);
  EXPECT_EQ(tensor.shape(0), 3);
  EXPECT_EQ(tensor.shape(1), 3);
  std::vector<float> logits(9);
  ASSERT_EQ(tensor.data().size(), logits.size() * sizeof(float));
  std::memcpy(logits.data(), tensor.data().data(), tensor.data().size());
  EXPECT_EQ(logits, std::vector<float>({0, 1, 0, 15, 0, 0, 0, 0, 2}));
  // 15 = 0x41700000, lowest byte first.
  EXPECT_EQ(tensor.data().substr(12, 4), std::string("\0\0\x70\x41", 4));
}

TEST_F(ServiceLargeReplyTest, ManyTokenResultsAreBuiltOnThePool) {
  const v1::ClassifyRequest request =
      TokenRequest(Request(std::vector<std::string>(100, "one five")));
  v1::ClassifyResponse response;
  ASSERT_TRUE(Classify(request, response).ok());
  ASSERT_EQ(response.results_size(), 100);
  for (const v1::Classification& result : response.results()) {
    ASSERT_EQ(result.entities_size(), 1);
    EXPECT_EQ(result.entities(0).end_byte(), 8u);
  }
}

TEST_F(ServiceLargeReplyTest, TokenResultsBeyondTheLimitAreRefused) {
  v1::ClassifyRequest request = Request({"1 2 3 4 5 6 7"});
  request.mutable_model()->set_name("wide");
  const Error error = ClassifyError(request);
  EXPECT_EQ(error.code, grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(error.reason, "TOKEN_RESULTS_TOO_LARGE");
  EXPECT_EQ(error.fields, std::vector<std::string>({"inputs"}));
  EXPECT_EQ(error.metadata.at("byteCount"), "301989888");
}

TEST_F(ServiceClassificationTest, FieldsOfTheOtherKindOfModelAreRefused) {
  v1::ClassifyRequest request = TokenRequest(Request({"one"}));
  request.set_top_k(1);
  Error error = ClassifyError(request);
  EXPECT_EQ(error.code, grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(error.reason, "TOP_K_NOT_SUPPORTED");
  EXPECT_EQ(error.fields, std::vector<std::string>({"top_k"}));
  EXPECT_EQ(error.metadata.at("task"), "token_classification");
  for (const auto aggregation :
       {v1::ENTITY_AGGREGATION_NONE, v1::ENTITY_AGGREGATION_SIMPLE, v1::ENTITY_AGGREGATION_FIRST}) {
    request = Request({"one"});
    request.set_entity_aggregation(aggregation);
    error = ClassifyError(request);
    EXPECT_EQ(error.code, grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(error.reason, "ENTITIES_NOT_SUPPORTED");
    EXPECT_EQ(error.fields, std::vector<std::string>({"entity_aggregation"}));
  }
  request = TokenRequest(Request({"one"}));
  request.set_entity_aggregation(static_cast<v1::EntityAggregation>(77));
  error = ClassifyError(request);
  EXPECT_EQ(error.reason, "UNKNOWN_ENUM_VALUE");
  EXPECT_EQ(error.fields, std::vector<std::string>({"entity_aggregation"}));
}

TEST_F(ServiceClassificationTest, TopKKeepsTheBest) {
  v1::ClassifyRequest request = Request({"ab"});
  request.set_top_k(1);
  v1::ClassifyResponse response;
  ASSERT_TRUE(Classify(request, response).ok());
  ASSERT_EQ(response.results(0).labels_size(), 1);
  EXPECT_EQ(response.results(0).labels(0).label(), "yes");
  EXPECT_EQ(response.results(0).logits_size(), 0);
}

TEST_F(ServiceClassificationTest, PairsOnlyWhereTheModelTakesThem) {
  v1::ClassifyRequest request = Request({"ab", "a"});
  request.mutable_inputs(1)->set_text_pair("c");
  Error error = ClassifyError(request);
  EXPECT_EQ(error.code, grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(error.reason, "PAIR_NOT_SUPPORTED");
  EXPECT_EQ(error.fields, std::vector<std::string>({"inputs[1].text_pair"}));
  request.mutable_model()->set_name("pairs");
  v1::ClassifyResponse response;
  ASSERT_TRUE(Classify(request, response).ok());
  EXPECT_EQ(response.results(1).usage().token_count(), 5u);
}

TEST_F(ServiceClassificationTest, InvalidUtf8NamesTheField) {
  const Error error = Read(CallRaw(kClassify, std::string("\x12\x04\x0a\x02\xF0\x80")));
  EXPECT_EQ(error.code, grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(error.reason, "INVALID_UTF8");
  EXPECT_EQ(error.fields, std::vector<std::string>({"inputs[0].text"}));
}

TEST_F(ServiceClassificationTest, GarbageIsInvalid) {
  const Error error = Read(CallRaw(kClassify, "\xFF\xFF\xFF"));
  EXPECT_EQ(error.code, grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(error.reason, "MALFORMED_REQUEST");
}

TEST_F(ServiceClassificationTest, EmptyListIsInvalid) {
  const Error error = ClassifyError(v1::ClassifyRequest());
  EXPECT_EQ(error.code, grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(error.reason, "EMPTY_INPUTS");
  EXPECT_EQ(error.fields, std::vector<std::string>({"inputs"}));
}

TEST_F(ServiceClassificationTest, TenThousandTextsAreTooMany) {
  const Error error = ClassifyError(Request(std::vector<std::string>(10000, "a")));
  EXPECT_EQ(error.code, grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(error.reason, "TOO_MANY_INPUTS");
  EXPECT_EQ(error.fields, std::vector<std::string>({"inputs"}));
  EXPECT_EQ(error.metadata.at("limit"), "4096");
  EXPECT_EQ(error.metadata.at("count"), "10000");
}

TEST_F(ServiceClassificationTest, HugeWordIsOneTokenAndHugerIsInvalid) {
  v1::ClassifyResponse response;
  ASSERT_TRUE(Classify(Request({std::string(1 << 20, 'a')}), response).ok());
  EXPECT_EQ(response.results(0).usage().token_count(), 3u);
  const Error error = ClassifyError(Request({"a", std::string((1 << 20) + 1, 'a')}));
  EXPECT_EQ(error.code, grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(error.reason, "TEXT_TOO_LARGE");
  EXPECT_EQ(error.fields, std::vector<std::string>({"inputs[1].text"}));
}

TEST_F(ServiceClassificationTest, LongTextIsAnErrorUnlessTruncated) {
  std::string text;
  for (int i = 0; i < 20; ++i) text += "a ";
  v1::ClassifyRequest request = Request({"a", text, text});
  const Error error = ClassifyError(request);
  EXPECT_EQ(error.code, grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(error.reason, "TOO_MANY_TOKENS");
  EXPECT_EQ(error.fields, std::vector<std::string>({"inputs[1].text", "inputs[2].text"}));
  EXPECT_EQ(error.metadata.at("limit"), "16");
  request = Request({text});
  request.set_long_text_policy(v1::LONG_TEXT_POLICY_TRUNCATE);
  v1::ClassifyResponse response;
  ASSERT_TRUE(Classify(request, response).ok());
  EXPECT_TRUE(response.results(0).usage().truncated());
  EXPECT_EQ(response.results(0).usage().token_count(), 16u);
  EXPECT_EQ(response.results(0).usage().original_token_count(), 22u);
}

TEST_F(ServiceClassificationTest, UnknownModelOrVersionIsNotFound) {
  v1::ClassifyRequest request = Request({"a"});
  request.mutable_model()->set_name("nobody");
  Error error = ClassifyError(request);
  EXPECT_EQ(error.code, grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(error.reason, "MODEL_NOT_FOUND");
  EXPECT_EQ(error.metadata.at("model"), "nobody");
  request.mutable_model()->set_name("plain");
  request.mutable_model()->set_version("v0");
  error = ClassifyError(request);
  EXPECT_EQ(error.code, grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(error.reason, "MODEL_VERSION_NOT_FOUND");
}

TEST_F(ServiceClassificationTest, OptionsOfLaterVersionsAreRefusedByName) {
  v1::ClassifyRequest request = Request({"a"});
  request.set_long_text_policy(v1::LONG_TEXT_POLICY_CHUNK);
  const Error error = ClassifyError(request);
  EXPECT_EQ(error.code, grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(error.metadata.at("field"), "long_text_policy");
  request.set_long_text_policy(static_cast<v1::LongTextPolicy>(77));
  EXPECT_EQ(ClassifyError(request).fields, std::vector<std::string>({"long_text_policy"}));
  request = Request({"a"});
  request.set_importance(static_cast<v1::Importance>(77));
  EXPECT_EQ(ClassifyError(request).code, grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(ServiceClassificationTest, NonFiniteResultNamesItsText) {
  plain_->SetBehaviour([](const RaggedBatch& batch) -> absl::StatusOr<RunOutput> {
    RunOutput output = FakeRunner::Compute(batch);
    output.scores.back() = std::nanf("");
    return output;
  });
  const Error error = ClassifyError(Request({"a", "b"}));
  EXPECT_EQ(error.code, grpc::StatusCode::INTERNAL);
  EXPECT_EQ(error.reason, "NON_FINITE");
  EXPECT_EQ(error.metadata.at("field"), "inputs[1]");
}

}  // namespace
}  // namespace heed
