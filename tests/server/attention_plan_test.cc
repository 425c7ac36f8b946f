#include "server/attention_plan.h"

#include <limits>

#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "model/api/error.h"
#include "tests/fakes/fake_model.h"

namespace heed {
namespace {

using Entries = std::vector<int64_t>;
using Shape = std::array<int64_t, 4>;

constexpr size_t kNoLimit = std::numeric_limits<size_t>::max();

// A base-sized encoder.
ModelInfo Info() {
  ModelInfo info = FakeRunner().info();
  info.layer_count = 12;
  info.head_count = 12;
  info.hidden_size = 768;
  return info;
}

absl::StatusOr<AttentionPlan> Plan(const std::string& text, size_t tokens,
                                   size_t max_bytes = kNoLimit) {
  v1::GetAttentionRequest request;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &request)) << text;
  const absl::Status status = CheckAttentionRequest(request, Info());
  if (!status.ok()) return status;
  return PlanAttention(request, Info(), tokens, max_bytes);
}

TEST(AttentionPlanTest, EverythingOfABaseModelAt512Tokens) {
  const auto plan = Plan("", 512);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->shape, Shape({12, 12, 512, 512}));
  EXPECT_EQ(plan->total_bytes, size_t{144} << 20);
  EXPECT_EQ(plan->type, v1::TENSOR_TYPE_FLOAT32);
  EXPECT_EQ(plan->tile_rows, 256u);  // two tiles of one size a head
  // Queries and keys are smaller than what they make.
  EXPECT_FALSE(plan->capture.eager);
  EXPECT_EQ(plan->capture.form, AttentionForm::kWeights);
  EXPECT_EQ(plan->memory_bytes, 3 * kMaxTileBytes + 2 * 12 * 512 * 768 * 4);
}

TEST(AttentionPlanTest, SelectionAndTypeMakeItSmaller) {
  const auto plan = Plan(
      "layers { indices: -1 } heads { indices: [3, 1] } query_rows { ranges { start: 4 end: 6 } "
      "indices: 9 } key_columns { indices: [7, 0] } type: TENSOR_TYPE_UINT8",
      10);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->layers, Entries({11}));
  EXPECT_EQ(plan->heads, Entries({3, 1}));
  EXPECT_EQ(plan->rows, Entries({9, 4, 5}));
  EXPECT_EQ(plan->columns, Entries({7, 0}));
  EXPECT_EQ(plan->shape, Shape({1, 2, 3, 2}));
  EXPECT_EQ(plan->total_bytes, 12u);
  EXPECT_TRUE(plan->capture.eager);
  EXPECT_EQ(plan->capture.layers, Entries({11}));
  EXPECT_EQ(plan->capture.heads, Entries({3, 1}));
  EXPECT_EQ(plan->capture.row_begin, 4);
  EXPECT_EQ(plan->capture.row_end, 10);
  EXPECT_EQ(plan->memory_bytes, 3 * kMaxTileBytes + 2 * 6 * 10 * 4);
}

TEST(AttentionPlanTest, Reductions) {
  auto plan = Plan("reduction: ATTENTION_REDUCTION_MEAN_HEADS", 20);
  EXPECT_EQ(plan->shape, Shape({12, 1, 20, 20}));
  EXPECT_EQ(plan->capture.form, AttentionForm::kMeanHeads);
  plan = Plan("reduction: ATTENTION_REDUCTION_ENTROPY query_rows { indices: 3 }", 20);
  EXPECT_EQ(plan->shape, Shape({12, 12, 1, 1}));
  EXPECT_TRUE(plan->columns.empty());
  EXPECT_EQ(plan->capture.form, AttentionForm::kEntropy);
  plan = Plan("reduction: ATTENTION_REDUCTION_MEAN_DISTANCE", 4096);
  EXPECT_EQ(plan->capture.form, AttentionForm::kMeanDistance);
  EXPECT_TRUE(plan->capture.eager);
  // The product needs all rows of the layers, in the model's order.
  plan = Plan(
      "reduction: ATTENTION_REDUCTION_ROLLOUT layers { indices: [5, 2] } query_rows { indices: 3 }",
      20);
  EXPECT_EQ(plan->shape, Shape({1, 1, 1, 20}));
  EXPECT_EQ(plan->capture.layers, Entries({2, 5}));
  EXPECT_EQ(plan->capture.row_begin, 0);
  EXPECT_EQ(plan->capture.row_end, 20);
  EXPECT_TRUE(plan->capture.eager);
  plan = Plan("reduction: ATTENTION_REDUCTION_FLOW", 64);
  EXPECT_EQ(plan->shape, Shape({1, 1, 64, 64}));
}

TEST(AttentionPlanTest, TopKTravelsWithItsColumns) {
  const auto plan = Plan("top_k: 5", 4096);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->shape, Shape({12, 12, 4096, 5}));
  EXPECT_EQ(plan->total_bytes, 12u * 12 * 4096 * 5 * 4);
  EXPECT_EQ(plan->tile_rows, 4096u);  // all of them: 35 bytes each
}

TEST(AttentionPlanTest, WhatDoesNotGoTogetherIsRefused) {
  const struct {
    const char* request;
    size_t tokens;
    const char* reason;
    const char* field;
  } cases[] = {
      {"reduction: ATTENTION_REDUCTION_ENTROPY key_columns { indices: 0 }", 8,
       "NO_COLUMNS_TO_CHOOSE", "key_columns"},
      {"reduction: ATTENTION_REDUCTION_MEAN_DISTANCE top_k: 1", 8, "NO_COLUMNS_TO_CHOOSE", "top_k"},
      {"reduction: ATTENTION_REDUCTION_FLOW", 65, "TOO_MANY_TOKENS_FOR_FLOW", "reduction"},
      {"top_k: 9", 8, "TOP_K_TOO_LARGE", "top_k"},
      {"top_k: 2 key_columns { indices: 0 }", 8, "TOP_K_TOO_LARGE", "top_k"},
      {"layers { indices: 12 }", 8, "INDEX_OUT_OF_RANGE", "layers.indices[0]"},
      {"heads { indices: -13 }", 8, "INDEX_OUT_OF_RANGE", "heads.indices[0]"},
      {"query_rows { indices: 8 }", 8, "INDEX_OUT_OF_RANGE", "query_rows.indices[0]"},
      {"key_columns { ranges { end: 9 } }", 8, "INDEX_OUT_OF_RANGE", "key_columns.ranges[0].end"},
      {"reduction: 77", 8, "UNKNOWN_ENUM_VALUE", "reduction"},
      {"type: 77", 8, "UNKNOWN_ENUM_VALUE", "type"},
  };
  for (const auto& c : cases) {
    const absl::Status status = Plan(c.request, c.tokens).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << c.request;
    EXPECT_EQ(GetErrorDetail(status).reason, c.reason) << c.request;
    EXPECT_EQ(GetErrorDetail(status).field, c.field) << c.request;
  }
}

TEST(AttentionPlanTest, TooLargeNamesSizeAndLimit) {
  EXPECT_TRUE(Plan("", 10, 12 * 12 * 400).ok());
  const absl::Status status = Plan("", 10, 12 * 12 * 400 - 1).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  const ErrorDetail detail = GetErrorDetail(status);
  EXPECT_EQ(detail.reason, "ATTENTION_TOO_LARGE");
  EXPECT_EQ(detail.metadata.at("byteCount"), "57600");
  EXPECT_EQ(detail.metadata.at("limit"), "57599");
  EXPECT_TRUE(Plan("type: TENSOR_TYPE_FLOAT16", 10, 12 * 12 * 200).ok());
  // A row that no message can carry.
  EXPECT_EQ(GetErrorDetail(Plan("query_rows { indices: 0 }", 300000).status()).reason,
            "ATTENTION_TOO_LARGE");
}

TEST(AttentionPlanTest, ModelsWithoutAttentionAreNamed) {
  ModelInfo info = Info();
  info.has_attention = false;
  const absl::Status status = CheckAttentionRequest(v1::GetAttentionRequest(), info);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(GetErrorDetail(status).reason, "NO_ATTENTION");
  EXPECT_EQ(GetErrorDetail(status).metadata.at("architecture"), "fake");
  EXPECT_EQ(GetErrorDetail(RequireAttention(info, "importance")).field, "importance");
}

}  // namespace
}  // namespace heed
