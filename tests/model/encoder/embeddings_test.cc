#include "model/encoder/embeddings.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "model/attention/layout.h"
#include "tests/model/encoder/fake_weights.h"

namespace heed {
namespace {

// Words of width 2: id i is (i, 10 i).
class EmbeddingsTest : public testing::Test {
 protected:
  EmbeddingsTest() {
    fake_.Add("embeddings.word", {4, 2}, {0, 0, 1, 10, 2, 20, 3, 30});
    fake_.Add("embeddings.segment", {2, 2}, {0.5F, 0.5F, 0.25F, 0.25F});
    config_.hidden_size = 2;
    config_.embedding_norm = false;
    batch_.Append({{3, 1}, {0, 1}, {}, {1, 0}});
  }

  // Rows of the two tokens of the batch.
  void Expect(const std::vector<float>& rows,
              std::vector<std::shared_ptr<const PositionalEncoding>> encodings = {}) {
    const Weights weights(fake_.map());
    const Embeddings embeddings(config_, weights, std::move(encodings));
    const AttentionLayout layout(batch_);
    const at::Tensor x = embeddings.Forward(batch_, layout.tokens);
    const at::Tensor expected = at::tensor(rows).view({2, -1});
    ASSERT_EQ(x.sizes(), expected.sizes());
    EXPECT_LT((x - expected).abs().max().item<float>(), 1e-6) << x;
  }

  FakeWeights fake_;
  ModelConfig config_;
  RaggedBatch batch_;
};

class AddsPosition : public PositionalEncoding {
 public:
  at::Tensor AddToEmbeddings(at::Tensor x, const TokenPositions& tokens) const override {
    return x + tokens.positions.to(at::kFloat).unsqueeze(1) * 100;
  }
};

TEST_F(EmbeddingsTest, WordsAlone) { Expect({3, 30, 1, 10}); }

TEST_F(EmbeddingsTest, Segments) {
  config_.segment_count = 2;
  Expect({3.5, 30.5, 1.25, 10.25});
  const Weights weights(fake_.map());
  EXPECT_EQ(Embeddings(config_, weights, {}).segment_limit(), 2);
}

// A model that does not tell segments apart adds the first to every token.
TEST_F(EmbeddingsTest, SegmentsThatAreNotReadAreAllTheFirst) {
  config_.segment_count = 2;
  config_.reads_segments = false;
  Expect({3.5, 30.5, 1.5, 10.5});
  const Weights weights(fake_.map());
  EXPECT_EQ(Embeddings(config_, weights, {}).segment_limit(), 0);
  EXPECT_EQ(Embeddings(config_, weights, {}).vocab_size(), 4);
}

TEST_F(EmbeddingsTest, TaskIsTheFirst) {
  fake_.Add("embeddings.task", {2, 2}, {7, 0, 9, 9});
  config_.has_task_embedding = true;
  Expect({10, 30, 8, 10});
}

// The scale is the words' own.
TEST_F(EmbeddingsTest, ScaleComesBeforeEverythingElse) {
  config_.embedding_scale = 2;
  config_.segment_count = 2;
  Expect({6.5, 60.5, 2.25, 20.25}, {});
  Expect({6.5, 60.5, 102.25, 120.25}, {std::make_shared<AddsPosition>()});
}

// (a, 10 a) has the mean 5.5 a and the deviation 4.5 a.
TEST_F(EmbeddingsTest, NormFollowsThePositions) {
  fake_.Add("embeddings.norm.weight", {2}, {1, 2});
  fake_.Add("embeddings.norm.bias", {2}, {0, 5});
  config_.embedding_norm = true;
  Expect({-1, 7, -1, 7});
  // Equal shifts of a row change no norm.
  Expect({-1, 7, -1, 7}, {std::make_shared<AddsPosition>()});
}

TEST_F(EmbeddingsTest, HiddenTokensAreZeroWhereTheModelSaysSo) {
  config_.hidden_tokens_are_zero = true;
  Expect({3, 30, 0, 0});
  batch_.key_mask.clear();
  Expect({3, 30, 1, 10});
}

TEST_F(EmbeddingsTest, ProjectionComesLast) {
  fake_.Add("embeddings.projection.weight", {3, 2}, {1, 0, 0, 1, 1, 1});
  fake_.Add("embeddings.projection.bias", {3}, {0, 0, 0.5F});
  config_.hidden_tokens_are_zero = true;
  Expect({3, 30, 33.5, 0, 0, 0.5});
}

}  // namespace
}  // namespace heed
