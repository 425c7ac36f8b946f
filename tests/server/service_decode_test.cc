#include "server/service_decode.h"

#include <string>

#include "google/rpc/error_details.pb.h"
#include "gtest/gtest.h"
#include "heed/v1/classification.pb.h"
#include "model/api/error.h"
#include "server/convert_status.h"

namespace heed {
namespace {

grpc::ByteBuffer Buffer(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

// Bytes of a request with `text` as its only input; protobuf itself would not write bad UTF-8.
std::string RequestWith(const std::string& text) {
  const std::string input = std::string("\x0a") + static_cast<char>(text.size()) + text;
  return std::string("\x12") + static_cast<char>(input.size()) + input;
}

TEST(DecodeTest, RoundTrip) {
  v1::ClassifyRequest request;
  request.add_inputs()->set_text("héllo");
  request.set_top_k(3);
  grpc::ByteBuffer buffer = Encode(request);
  v1::ClassifyRequest decoded;
  ASSERT_TRUE(Decode(buffer, decoded).ok());
  EXPECT_EQ(decoded.inputs(0).text(), "héllo");
  EXPECT_EQ(decoded.top_k(), 3u);
}

TEST(DecodeTest, EmptyBufferIsAnEmptyMessage) {
  grpc::ByteBuffer invalid;
  v1::ClassifyRequest request;
  request.set_top_k(3);
  ASSERT_TRUE(Decode(invalid, request).ok());
  EXPECT_EQ(request.top_k(), 0u);
}

TEST(DecodeTest, NamesEveryBadString) {
  const std::string bytes =
      RequestWith("fine") + RequestWith("\xF0\x80") + RequestWith("ok") + RequestWith("\xFF");
  grpc::ByteBuffer buffer = Buffer(bytes);
  v1::ClassifyRequest request;
  const absl::Status status = Decode(buffer, request);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(GetErrorDetail(status).reason, "INVALID_UTF8");
  EXPECT_EQ(GetErrorDetail(status).field, "inputs[1].text");
  google::rpc::BadRequest bad;
  ASSERT_TRUE(ToRpcStatus(status).details(1).UnpackTo(&bad));
  ASSERT_EQ(bad.field_violations_size(), 2);
  EXPECT_EQ(bad.field_violations(1).field(), "inputs[3].text");
}

TEST(DecodeTest, GarbageIsMalformed) {
  for (const std::string& bytes :
       {std::string("\x12\x7F"), std::string("\xFF\xFF\xFF"), std::string("\x12\x02\x0A\x05")}) {
    grpc::ByteBuffer buffer = Buffer(bytes);
    v1::ClassifyRequest request;
    const absl::Status status = Decode(buffer, request);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(GetErrorDetail(status).reason, "MALFORMED_REQUEST");
  }
}

}  // namespace
}  // namespace heed
