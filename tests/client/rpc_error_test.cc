#include "client/rpc_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/client/fake_server.h"

namespace heed {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

absl::Status TooLong(const std::string& field) {
  return FromGrpcStatus(testing::MakeStatus({.code = grpc::StatusCode::INVALID_ARGUMENT,
                                             .message = field + " is too long",
                                             .reason = "TOO_MANY_TOKENS",
                                             .violation_field = field,
                                             .violation_description = "600 tokens"}));
}

TEST(RpcErrorTest, KeepsEveryDetail) {
  absl::Status status =
      FromGrpcStatus(testing::MakeStatus({.code = grpc::StatusCode::RESOURCE_EXHAUSTED,
                                          .message = "the queue is full",
                                          .reason = "QUEUE_FULL",
                                          .violation_field = "inputs",
                                          .violation_description = "later",
                                          .retry_delay_seconds = 1.25}));
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(status.message(), "the queue is full");
  const RpcErrorDetails details = GetRpcErrorDetails(status);
  EXPECT_EQ(details.reason, "QUEUE_FULL");
  EXPECT_EQ(details.domain, "heed.dev");
  EXPECT_THAT(details.metadata, ElementsAre(Pair("limit", "512")));
  ASSERT_EQ(details.field_violations.size(), 1u);
  EXPECT_EQ(details.field_violations[0].field, "inputs");
  EXPECT_EQ(details.field_violations[0].description, "later");
  EXPECT_EQ(details.retry_delay, absl::Milliseconds(1250));
}

TEST(RpcErrorTest, DetailsOfAnotherErrorAreEmpty) {
  const grpc::Status plain(grpc::StatusCode::INTERNAL, "no details");
  const grpc::Status garbage(grpc::StatusCode::INTERNAL, "bad details", "\xff\xff\xff");
  for (const grpc::Status& status : {plain, garbage}) {
    const absl::Status converted = FromGrpcStatus(status);
    EXPECT_EQ(converted.message(), status.error_message());
    const RpcErrorDetails details = GetRpcErrorDetails(converted);
    EXPECT_EQ(details.reason, "");
    EXPECT_TRUE(details.field_violations.empty());
    EXPECT_FALSE(details.retry_delay.has_value());
  }
}

TEST(RpcErrorTest, FormatsTheViolationsBelowTheMessage) {
  EXPECT_EQ(FormatError(TooLong("inputs[3].text")),
            "INVALID_ARGUMENT: inputs[3].text is too long\n  inputs[3].text: 600 tokens");
}

TEST(RpcErrorTest, FormatsTheRetryDelay) {
  EXPECT_EQ(
      FormatError(FromGrpcStatus(testing::MakeStatus({.code = grpc::StatusCode::RESOURCE_EXHAUSTED,
                                                      .message = "full",
                                                      .retry_delay_seconds = 0.5}))),
      "RESOURCE_EXHAUSTED: full\n  retry after 500ms");
}

TEST(RpcErrorTest, DoesNotSayTheSameTwice) {
  const absl::Status status =
      FromGrpcStatus(testing::MakeStatus({.code = grpc::StatusCode::INVALID_ARGUMENT,
                                          .message = "inputs: must not be empty",
                                          .violation_field = "inputs",
                                          .violation_description = "inputs: must not be empty"}));
  EXPECT_EQ(FormatError(status), "INVALID_ARGUMENT: inputs: must not be empty");
}

TEST(RpcErrorTest, ShiftsIndexesInMessageAndDetails) {
  const absl::Status status = ShiftInputIndexes(TooLong("inputs[3].text"), 512);
  EXPECT_EQ(status.message(), "inputs[515].text is too long");
  const RpcErrorDetails details = GetRpcErrorDetails(status);
  EXPECT_EQ(details.field_violations[0].field, "inputs[515].text");
  EXPECT_EQ(details.reason, "TOO_MANY_TOKENS");
}

TEST(RpcErrorTest, ShiftLeavesOtherTextAlone) {
  for (const char* message : {"inputs[", "inputs[]", "inputs[x]", "outputs(3)", "inputs"}) {
    EXPECT_EQ(ShiftInputIndexes(absl::InternalError(message), 7).message(), message);
  }
  EXPECT_EQ(ShiftInputIndexes(absl::InternalError("inputs[0], inputs[9]"), 1).message(),
            "inputs[1], inputs[10]");
  EXPECT_TRUE(ShiftInputIndexes(absl::OkStatus(), 7).ok());
}

}  // namespace
}  // namespace heed
