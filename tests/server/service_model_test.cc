// ModelService over real gRPC.
#include <string>

#include "gtest/gtest.h"
#include "tests/server/service_fixture.h"

namespace heed {
namespace {

class ServiceModelTest : public ServiceFixture {};

TEST_F(ServiceModelTest, ModelsAreListedAndFound) {
  v1::ListModelsResponse list;
  grpc::ClientContext list_context;
  ASSERT_TRUE(model_->ListModels(&list_context, {}, &list).ok());
  ASSERT_EQ(list.models_size(), 4);
  EXPECT_TRUE(list.models(0).default_());
  EXPECT_EQ(list.models(1).name(), "pairs");
  EXPECT_TRUE(list.models(1).accepts_pairs());
  v1::GetModelRequest request;
  request.mutable_model()->set_name("pairs");
  v1::GetModelResponse response;
  grpc::ClientContext get_context;
  ASSERT_TRUE(model_->GetModel(&get_context, request, &response).ok());
  EXPECT_EQ(response.model().name(), "pairs");
  EXPECT_FALSE(response.model().default_());
  request.mutable_model()->set_name("nobody");
  grpc::ClientContext bad_context;
  EXPECT_EQ(Read(model_->GetModel(&bad_context, request, &response)).reason, "MODEL_NOT_FOUND");
}

TEST_F(ServiceModelTest, TokenizesWithOffsets) {
  v1::TokenizeRequest request;
  request.add_inputs()->set_text("ab cde");
  request.add_inputs()->set_text(std::string(5000, 'x'));  // goes through the pool
  v1::TokenizeResponse response;
  grpc::ClientContext context;
  ASSERT_TRUE(model_->Tokenize(&context, request, &response).ok());
  ASSERT_EQ(response.results_size(), 2);
  ASSERT_EQ(response.results(0).tokens_size(), 4);
  EXPECT_TRUE(response.results(0).tokens(0).special());
  EXPECT_EQ(response.results(0).tokens(2).piece(), "cde");
  EXPECT_EQ(response.results(0).tokens(2).start_byte(), 3u);
  EXPECT_EQ(response.results(0).usage().token_count(), 4u);
  grpc::ClientContext empty_context;
  EXPECT_EQ(Read(model_->Tokenize(&empty_context, {}, &response)).reason, "EMPTY_INPUTS");
}

}  // namespace
}  // namespace heed
