#include "model/encoder/check_batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/api/error.h"

namespace heed {
namespace {

using testing::HasSubstr;

// Two texts of three and two tokens.
RaggedBatch Good() {
  RaggedBatch batch;
  batch.Append({{1, 2, 3}, {0, 0, 0}, {}, {}});
  batch.Append({{4, 5}, {0, 1}, {}, {}});
  return batch;
}

void ExpectError(const absl::Status& status, const std::string& reason, const std::string& words) {
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_EQ(GetErrorDetail(status).reason, reason) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(words));
}

TEST(CheckBatchTest, Shape) {
  EXPECT_TRUE(CheckBatchShape(Good()).ok());
  const auto expect = [](const char* words, void (*spoil)(RaggedBatch&)) {
    RaggedBatch batch = Good();
    spoil(batch);
    ExpectError(CheckBatchShape(batch), "BAD_BATCH", words);
  };
  expect("cu_seqlens", [](RaggedBatch& b) { b = {}; });
  expect("cu_seqlens", [](RaggedBatch& b) { b.cu_seqlens = {1, 3, 5}; });
  expect("cu_seqlens", [](RaggedBatch& b) { b.cu_seqlens = {0, 3, 4}; });
  expect("text 1 has no token", [](RaggedBatch& b) { b.cu_seqlens = {0, 3, 3, 5}; });
  expect("text 1 has no token", [](RaggedBatch& b) { b.cu_seqlens = {0, 4, 3, 5}; });
  expect("differ in length", [](RaggedBatch& b) { b.segments.pop_back(); });
  expect("differ in length", [](RaggedBatch& b) { b.positions.push_back(0); });
  expect("differ in length", [](RaggedBatch& b) { b.key_mask = {1, 1}; });
  expect("differ in length", [](RaggedBatch& b) { b.global_mask = {1, 1}; });
  expect("one entry a text", [](RaggedBatch& b) { b.context_lengths = {3}; });
  expect("one entry a text", [](RaggedBatch& b) { b.has_globals = {1, 1}; });
  expect("one entry a text", [](RaggedBatch& b) { b.global_mask = {1, 1, 1, 1, 1}; });
  expect("text 1 is longer than its context_length", [](RaggedBatch& b) {
    b.context_lengths = {3, 1};
  });
}

TEST(CheckBatchTest, Ranges) {
  EXPECT_TRUE(CheckRange({0, 4}, 5, "token id").ok());
  ExpectError(CheckRange({0, 5}, 5, "token id"), "OUT_OF_RANGE", "token id 5 is not in [0, 5)");
  ExpectError(CheckRange({-1}, 5, "segment"), "OUT_OF_RANGE", "segment -1 is not in [0, 5)");
  const ErrorDetail detail = GetErrorDetail(OutOfRange("x", 7, 5));
  EXPECT_EQ(detail.metadata.at("value"), "7");
  EXPECT_EQ(detail.metadata.at("limit"), "5");
}

TEST(CheckBatchTest, Lengths) {
  EXPECT_TRUE(CheckLengths(Good(), 3).ok());
  EXPECT_TRUE(CheckLengths(Good(), 0).ok());
  ExpectError(CheckLengths(Good(), 2), "OUT_OF_RANGE", "2 is not in [0, 2)");
}

TEST(CheckBatchTest, Requests) {
  const auto check = [](AttentionRequest request) { return CheckRequest(request, Good(), 4, 2); };
  EXPECT_TRUE(check({3, 1, {1, 0}, 0, -1}).ok());
  EXPECT_TRUE(check({0, 0, {}, 2, 3}).ok());
  ExpectError(check({4, 0, {}, 0, -1}), "OUT_OF_RANGE", "layer 4 is not in [0, 4)");
  ExpectError(check({-1, 0, {}, 0, -1}), "OUT_OF_RANGE", "layer -1");
  ExpectError(check({0, 2, {}, 0, -1}), "OUT_OF_RANGE", "text 2 is not in [0, 2)");
  ExpectError(check({0, -1, {}, 0, -1}), "OUT_OF_RANGE", "text -1");
  ExpectError(check({0, 0, {0, 2}, 0, -1}), "OUT_OF_RANGE", "head 2 is not in [0, 2)");
  ExpectError(check({0, 1, {}, 0, 3}), "OUT_OF_RANGE", "within 2 tokens");
  ExpectError(check({0, 1, {}, 1, 1}), "OUT_OF_RANGE", "rows 1 to 1");
  ExpectError(check({0, 1, {}, -1, 1}), "OUT_OF_RANGE", "rows -1 to 1");
  ExpectError(check({0, 1, {}, 2, -1}), "OUT_OF_RANGE", "rows 2 to -1");
}

}  // namespace
}  // namespace heed
