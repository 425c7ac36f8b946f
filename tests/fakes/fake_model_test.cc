#include "tests/fakes/fake_model.h"

#include "gtest/gtest.h"

namespace heed {
namespace {

using Ids = std::vector<int64_t>;

TEST(FakeTokenizerTest, WordsBecomeTheirLengths) {
  EncodeOptions options;
  options.with_tokens = true;
  const auto item = FakeTokenizer().Encode("ab  cde", std::nullopt, options);
  ASSERT_TRUE(item.ok());
  EXPECT_EQ(item->input.ids, Ids({1, 12, 13, 2}));
  EXPECT_EQ(item->tokens[2].piece, "cde");
  EXPECT_EQ(item->tokens[2].start_byte, 4u);
  EXPECT_EQ(item->tokens[2].end_byte, 7u);
}

TEST(FakeTokenizerTest, PairsAndTruncation) {
  EXPECT_FALSE(FakeTokenizer(16, false).Encode("a", "b", {}).ok());
  const auto pair = FakeTokenizer(16, true).Encode("a", "bb", {});
  EXPECT_EQ(pair->input.segments, Ids({0, 0, 0, 1, 1}));
  EncodeOptions options;
  EXPECT_FALSE(FakeTokenizer(4).Encode("a b c d", std::nullopt, options).ok());
  options.too_long = TooLong::kTruncate;
  const auto cut = FakeTokenizer(4).Encode("a b c d", std::nullopt, options);
  EXPECT_EQ(cut->input.ids, Ids({1, 11, 11, 2}));
  EXPECT_EQ(cut->original_token_count, 6u);
  EXPECT_TRUE(cut->truncated);
}

TEST(FakeRunnerTest, ScoresFollowFromIds) {
  RaggedBatch batch;
  batch.Append(MakeIds(2, 3));
  batch.Append(MakeIds(1, 1));
  const auto output = FakeRunner().Run(batch, {});
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(output->logits, std::vector<float>({0, 6, 0, 1}));
  EXPECT_EQ(output->scores, std::vector<float>({1.0f / 7, 6.0f / 7, 0.5f, 0.5f}));
}

TEST(FakeRunnerTest, LabelsTokensByTheirIds) {
  FakeRunner runner;
  runner.LabelTokens();
  RaggedBatch batch;
  batch.Append(MakeIds(1, 13));
  batch.Append(MakeIds(1, 3));
  const auto output = runner.Run(batch, {});
  ASSERT_TRUE(output.ok());
  EXPECT_TRUE(output->logits.empty());
  EXPECT_EQ(output->token_logits, std::vector<float>({0, 13, 0, 3, 0, 0}));
  EXPECT_EQ(output->token_scores,
            std::vector<float>({0.125f, 0.75f, 0.125f, 0.75f, 0.125f, 0.125f}));
}

TEST(FakeRunnerTest, SimilarityFollowsFromThePlaces) {
  const FakeRunner runner;
  const auto learned = runner.SimilarityOfPositions(2, 1, "");
  ASSERT_TRUE(learned.ok());
  EXPECT_EQ(learned->encoding, "learned");
  EXPECT_EQ(learned->values, std::vector<double>({10, 9, 11, 10}));
  const auto bias = runner.SimilarityOfPositions(1, 0, "bias");
  ASSERT_TRUE(bias.ok());
  EXPECT_EQ(bias->matrix_count, 4);
  EXPECT_EQ(bias->values, std::vector<double>({0, 100, 200, 300}));
  EXPECT_FALSE(runner.SimilarityOfPositions(1, 0, "rope").ok());
}

}  // namespace
}  // namespace heed
