#include "model/api/error.h"

#include <gtest/gtest.h>

namespace heed {
namespace {

TEST(ErrorTest, KeepsItsParts) {
  const absl::Status status = MakeError(absl::StatusCode::kInvalidArgument, "TOO_MANY_TOKENS",
                                        "600 tokens, at most 512", {{"limit", "512"}}, "text");
  EXPECT_EQ(status.message(), "600 tokens, at most 512");
  const ErrorDetail detail = GetErrorDetail(status);
  EXPECT_EQ(detail.reason, "TOO_MANY_TOKENS");
  EXPECT_EQ(detail.field, "text");
  EXPECT_EQ(detail.metadata.at("limit"), "512");
}

TEST(ErrorTest, AForeignStatusHasNoParts) {
  const ErrorDetail detail = GetErrorDetail(absl::NotFoundError("x"));
  EXPECT_TRUE(detail.reason.empty());
  EXPECT_TRUE(detail.field.empty());
  EXPECT_TRUE(detail.metadata.empty());
}

TEST(ErrorTest, InFieldNests) {
  const absl::Status inner =
      MakeError(absl::StatusCode::kInvalidArgument, "INVALID_UTF8", "x", {}, "text");
  EXPECT_EQ(GetErrorDetail(InField(inner, "inputs[3]")).field, "inputs[3].text");
  EXPECT_EQ(GetErrorDetail(InField(absl::NotFoundError("x"), "model")).field, "model");
  EXPECT_TRUE(InField(absl::OkStatus(), "model").ok());
}

TEST(ErrorTest, PrefixKeepsTheParts) {
  const absl::Status status =
      WithMessagePrefix(MakeError(absl::StatusCode::kInternal, "R", "m", {{"k", "v"}}), "file: ");
  EXPECT_EQ(status.message(), "file: m");
  EXPECT_EQ(GetErrorDetail(status).reason, "R");
  EXPECT_EQ(GetErrorDetail(status).metadata.at("k"), "v");
  EXPECT_TRUE(WithMessagePrefix(absl::OkStatus(), "x").ok());
}

}  // namespace
}  // namespace heed
