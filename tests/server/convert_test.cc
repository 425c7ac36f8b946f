#include "server/convert.h"

#include "gtest/gtest.h"
#include "tests/fakes/fake_model.h"

namespace heed {
namespace {

ModelInfo ThreeLabels() {
  ModelInfo info;
  info.labels = {"a", "b", "c"};
  return info;
}

TEST(ConvertTest, LabelsComeBestFirstAndTiesByLabelId) {
  v1::Classification result;
  FillClassification(ThreeLabels(), {{1, 2, 3}, {0.2f, 0.6f, 0.2f}, {}, {}}, 0, false, result);
  ASSERT_EQ(result.labels_size(), 3);
  EXPECT_EQ(result.labels(0).label(), "b");
  EXPECT_EQ(result.labels(0).label_id(), 1u);
  EXPECT_EQ(result.labels(0).score(), 0.6f);
  EXPECT_EQ(result.labels(1).label(), "a");
  EXPECT_EQ(result.labels(2).label(), "c");
  EXPECT_EQ(result.logits_size(), 0);
}

TEST(ConvertTest, TopKAndLogits) {
  v1::Classification result;
  FillClassification(ThreeLabels(), {{1, 2, 3}, {0.1f, 0.2f, 0.7f}, {}, {}}, 1, true, result);
  ASSERT_EQ(result.labels_size(), 1);
  EXPECT_EQ(result.labels(0).label(), "c");
  ASSERT_EQ(result.logits_size(), 3);
  EXPECT_EQ(result.logits(0), 1);  // in label-id order
  v1::Classification all;
  FillClassification(ThreeLabels(), {{1, 2, 3}, {0.1f, 0.2f, 0.7f}, {}, {}}, 99, false, all);
  EXPECT_EQ(all.labels_size(), 3);
}

TEST(ConvertTest, Durations) {
  const auto proto = ToProto(absl::Seconds(2) + absl::Nanoseconds(5));
  EXPECT_EQ(proto.seconds(), 2);
  EXPECT_EQ(proto.nanos(), 5);
}

TEST(ConvertTest, UsageCountsTokensBeforeAndAfterTruncation) {
  TokenizedItem item;
  item.input = MakeIds(7);
  item.original_token_count = 9;
  item.truncated = true;
  const v1::TokenUsage usage = ToUsage(item);
  EXPECT_EQ(usage.token_count(), 7u);
  EXPECT_EQ(usage.original_token_count(), 9u);
  EXPECT_TRUE(usage.truncated());
  EXPECT_EQ(usage.chunk_count(), 1u);
}

TEST(ConvertTest, ModelAndToken) {
  ServedModel model;
  model.name = "m";
  model.model.runner = std::make_shared<FakeRunner>();
  const v1::Model proto = ToProto(model, true);
  EXPECT_EQ(proto.name(), "m");
  EXPECT_EQ(proto.version(), "v1");
  EXPECT_TRUE(proto.default_());
  EXPECT_EQ(proto.labels_size(), 2);
  EXPECT_EQ(proto.weights_bytes(), 4000u);
  const v1::Token token = ToProto(TokenDetail{"x", 5, 1, 2, 3, 4, 1, true});
  EXPECT_EQ(token.piece(), "x");
  EXPECT_EQ(token.id(), 5);
  EXPECT_EQ(token.start_byte(), 1u);
  EXPECT_EQ(token.end_byte(), 2u);
  EXPECT_EQ(token.start_char(), 3u);
  EXPECT_EQ(token.end_char(), 4u);
  EXPECT_EQ(token.segment(), 1u);
  EXPECT_TRUE(token.special());
}

}  // namespace
}  // namespace heed
