#include "server/convert_status.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/rpc/error_details.pb.h"
#include "gtest/gtest.h"
#include "model/api/error.h"
#include "model/api/utf8.h"

namespace heed {
namespace {

template <typename Detail>
std::vector<Detail> Details(const google::rpc::Status& status) {
  std::vector<Detail> found;
  for (const auto& any : status.details()) {
    Detail detail;
    if (any.UnpackTo(&detail)) found.push_back(detail);
  }
  return found;
}

TEST(ConvertStatusTest, OkHasNoDetails) {
  EXPECT_TRUE(ToGrpcStatus(absl::OkStatus()).ok());
  EXPECT_EQ(ToRpcStatus(absl::OkStatus()).details_size(), 0);
}

TEST(ConvertStatusTest, InvalidArgumentNamesFieldReasonAndValues) {
  const grpc::Status status = ToGrpcStatus(MakeError(absl::StatusCode::kInvalidArgument, "TOO_LONG",
                                                     "it is too long", {{"limit", "5"}}, "a.b"));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message(), "it is too long");
  google::rpc::Status rpc;
  ASSERT_TRUE(rpc.ParseFromString(status.error_details()));
  EXPECT_EQ(rpc.code(), 3);
  const auto infos = Details<google::rpc::ErrorInfo>(rpc);
  ASSERT_EQ(infos.size(), 1u);
  EXPECT_EQ(infos[0].domain(), "heed.dev");
  EXPECT_EQ(infos[0].reason(), "TOO_LONG");
  EXPECT_EQ(infos[0].metadata().at("limit"), "5");
  const auto bad = Details<google::rpc::BadRequest>(rpc);
  ASSERT_EQ(bad.size(), 1u);
  ASSERT_EQ(bad[0].field_violations_size(), 1);
  EXPECT_EQ(bad[0].field_violations(0).field(), "a.b");
  EXPECT_TRUE(Details<google::rpc::RetryInfo>(rpc).empty());
}

TEST(ConvertStatusTest, RetryInfoComesWithBusyCodesOnly) {
  for (const auto code : {absl::StatusCode::kResourceExhausted, absl::StatusCode::kUnavailable}) {
    const auto retry = Details<google::rpc::RetryInfo>(
        ToRpcStatus(MakeError(code, "BUSY", "busy", {{"retryDelay", "1.5s"}})));
    ASSERT_EQ(retry.size(), 1u);
    EXPECT_EQ(retry[0].retry_delay().seconds(), 1);
    EXPECT_EQ(retry[0].retry_delay().nanos(), 500000000);
  }
  const auto plain = Details<google::rpc::RetryInfo>(ToRpcStatus(absl::UnavailableError("x")));
  ASSERT_EQ(plain.size(), 1u);
  EXPECT_EQ(plain[0].retry_delay().seconds(), 1);
  EXPECT_TRUE(Details<google::rpc::RetryInfo>(ToRpcStatus(absl::InternalError("x"))).empty());
}

TEST(ConvertStatusTest, ForeignStatusStillHasAReason) {
  const auto infos = Details<google::rpc::ErrorInfo>(ToRpcStatus(absl::InternalError("x")));
  ASSERT_EQ(infos.size(), 1u);
  EXPECT_EQ(infos[0].reason(), "INTERNAL");
}

TEST(ConvertStatusTest, LargestErrorFitsIntoTrailingMetadata) {
  std::string text;
  for (int i = 0; i < 100000; ++i) text += "€";
  std::vector<absl::Status> errors;
  for (int i = 0; i < 100; ++i) {
    errors.push_back(MakeError(absl::StatusCode::kInvalidArgument, "BAD", text,
                               {{"value", text}, {"other", text}},
                               absl::StrCat("inputs[", i, "].", text)));
  }
  const grpc::Status status = ToGrpcStatus(CombineErrors(errors));
  google::rpc::Status rpc;
  ASSERT_TRUE(rpc.ParseFromString(status.error_details()));
  EXPECT_EQ(Details<google::rpc::BadRequest>(rpc).at(0).field_violations_size(), 16);
  EXPECT_EQ(FindInvalidUtf8(status.error_message()), std::nullopt);
  // base64 makes 4 bytes of 3.
  EXPECT_LT(status.error_details().size() * 4 / 3 + status.error_message().size(), 8000u);
}

}  // namespace
}  // namespace heed
