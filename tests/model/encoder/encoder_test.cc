#include "model/encoder/encoder.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/api/error.h"
#include "tests/model/encoder/fake_weights.h"

namespace heed {
namespace {

using testing::HasSubstr;

constexpr int64_t kWidth = 4;
constexpr int64_t kVocabulary = 9;

// A post-norm encoder of two layers without norms.
class EncoderTest : public testing::Test {
 protected:
  EncoderTest() {
    config_.hidden_size = kWidth;
    config_.layer_count = 2;
    config_.head_count = 2;
    config_.activation = "tanh";
    config_.embedding_norm = false;
    fake_.AddRandom("embeddings.word", {kVocabulary, kWidth});
    for (const std::string& layer : {std::string("layers.0."), std::string("layers.1.")}) {
      fake_.AddRandom(layer + "attention.query_key_value.weight", {3 * kWidth, kWidth});
      fake_.AddRandom(layer + "attention.output.weight", {kWidth, kWidth});
      fake_.AddRandom(layer + "intermediate.weight", {6, kWidth});
      fake_.AddRandom(layer + "output.weight", {kWidth, 6});
    }
  }

  absl::StatusOr<Encoder> Create() {
    const Weights weights(fake_.map());
    return Encoder::Create(config_, weights);
  }

  static RaggedBatch Batch(TokenIds text) {
    text.segments.assign(text.ids.size(), 0);
    RaggedBatch batch;
    batch.Append(text);
    return batch;
  }

  static std::vector<at::Tensor> States(const Encoder& encoder, const RaggedBatch& batch) {
    std::vector<at::Tensor> states;
    ForwardRecord record;
    record.hidden_states = &states;
    EXPECT_TRUE(encoder.Forward(batch, record).equal(states.back()));
    return states;
  }

  void Learned(int64_t rows) {
    std::vector<float> table;
    for (int64_t i = 0; i < rows * kWidth; ++i) table.push_back(static_cast<float>(i / kWidth));
    fake_.Add("positional.table", {rows, kWidth}, table);
    config_.encodings = {{"learned", {}, {}}};
  }

  FakeWeights fake_;
  ModelConfig config_;
};

TEST_F(EncoderTest, RecordsTheEmbeddingsAndEveryLayer) {
  const auto encoder = Create();
  ASSERT_TRUE(encoder.ok()) << encoder.status();
  EXPECT_EQ(encoder->layer_count(), 2);
  EXPECT_EQ(encoder->head_count(), 2);
  const std::vector<at::Tensor> states = States(*encoder, Batch({{5, 6, 7}}));
  ASSERT_EQ(states.size(), 3);
  const Weights weights(fake_.map());
  EXPECT_TRUE(states[0].equal(weights.Get("embeddings.word").narrow(0, 5, 3)));
  EXPECT_FALSE(states[1].equal(states[0]));
  EXPECT_FALSE(states[2].equal(states[1]));
}

// ALBERT's: two layers with one set of weights are a model whose second set is a copy.
TEST_F(EncoderTest, LayersMayShareWeights) {
  config_.layer_sources = {0, 0};
  const at::Tensor shared = Create()->Forward(Batch({{5, 6, 7}}));
  config_.layer_sources = {};
  const at::Tensor separate = Create()->Forward(Batch({{5, 6, 7}}));
  EXPECT_FALSE(shared.equal(separate));
  for (const char* const part :
       {"attention.query_key_value", "attention.output", "intermediate", "output"}) {
    const std::string name = std::string(part) + ".weight";
    fake_.map().tensors["layers.1." + name] = fake_.map().tensors["layers.0." + name];
  }
  EXPECT_TRUE(shared.equal(Create()->Forward(Batch({{5, 6, 7}}))));
}

TEST_F(EncoderTest, EncodingsActInTheirLayers) {
  config_.encodings = {{"alibi", {}, {1}}, {"none", {}, {}}};
  const auto encoder = Create();
  ASSERT_TRUE(encoder.ok()) << encoder.status();
  EXPECT_EQ(encoder->encodings(0).size(), 1);
  EXPECT_EQ(encoder->encodings(1).size(), 2);
  const std::vector<at::Tensor> with = States(*encoder, Batch({{5, 6, 7}}));
  config_.encodings = {};
  const std::vector<at::Tensor> without = States(*Create(), Batch({{5, 6, 7}}));
  EXPECT_TRUE(with[1].equal(without[1]));
  EXPECT_FALSE(with[2].equal(without[2]));
}

TEST_F(EncoderTest, LayersMayDifferInTheirPattern) {
  config_.patterns = {{"dense", {}}, {"sliding_window", {{"window", "0"}}}};
  const std::vector<at::Tensor> dense = States(*Create(), Batch({{5, 6, 7}}));
  config_.layer_patterns = {0, 1};
  const std::vector<at::Tensor> mixed = States(*Create(), Batch({{5, 6, 7}}));
  EXPECT_TRUE(mixed[1].equal(dense[1]));
  EXPECT_FALSE(mixed[2].equal(dense[2]));
}

TEST_F(EncoderTest, ScaleIsTheConfigurationsOwn) {
  const at::Tensor usual = Create()->Forward(Batch({{5, 6, 7}}));
  config_.attention_scale = 1 / std::sqrt(2.0);  // heads of size 2
  EXPECT_TRUE(usual.equal(Create()->Forward(Batch({{5, 6, 7}}))));
  config_.attention_scale = 1;
  EXPECT_FALSE(usual.equal(Create()->Forward(Batch({{5, 6, 7}}))));
}

// RoBERTa's rule, its table's row 2 being the first position: a pad stands on row 1 and does not
// count. Row i of this table is all i.
TEST_F(EncoderTest, PadsDoNotCountWherePositionsSkipThem) {
  Learned(8);
  config_.encodings[0].options["offset"] = "2";
  config_.position_rule = PositionRule::kSkipPads;
  config_.pad_token_id = 1;
  const auto encoder = Create();
  ASSERT_TRUE(encoder.ok()) << encoder.status();
  const Weights weights(fake_.map());
  const at::Tensor words = weights.Get("embeddings.word");
  const auto rows = [&](const RaggedBatch& batch) {
    const at::Tensor ids = at::tensor(batch.ids, at::kLong);
    const at::Tensor added = (States(*encoder, batch)[0] - words.index_select(0, ids)).select(1, 0);
    std::vector<int64_t> found;
    for (int64_t i = 0; i < added.size(0); ++i) {
      found.push_back(std::lround(added[i].item<float>()));
    }
    return found;
  };
  EXPECT_THAT(rows(Batch({{5, 6, 7}})), testing::ElementsAre(2, 3, 4));
  EXPECT_THAT(rows(Batch({{5, 1, 7, 1, 8}})), testing::ElementsAre(2, 1, 3, 1, 4));
  // The second text begins again; positions that the caller chose stay.
  RaggedBatch two = Batch({{1, 6}});
  two.Append({{5, 1, 7}, {0, 0, 0}, {4, 3, 2}, {}});
  EXPECT_THAT(rows(two), testing::ElementsAre(1, 2, 6, 5, 4));
  config_.position_rule = PositionRule::kSequential;
  EXPECT_EQ(Create()->max_tokens(), 6);
}

TEST_F(EncoderTest, LimitIsTheSmallerOne) {
  EXPECT_EQ(Create()->max_tokens(), 0);
  config_.max_tokens = 5;
  EXPECT_EQ(Create()->max_tokens(), 5);
  Learned(8);
  EXPECT_EQ(Create()->max_tokens(), 5);
  config_.max_tokens = 9;
  EXPECT_EQ(Create()->max_tokens(), 8);
}

TEST_F(EncoderTest, ChecksWhatTheModelCanTake) {
  config_.max_tokens = 3;
  config_.segment_count = 2;
  fake_.AddRandom("embeddings.segment", {2, kWidth});
  const auto encoder = Create();
  ASSERT_TRUE(encoder.ok()) << encoder.status();
  const auto message = [&](const RaggedBatch& batch) {
    return std::string(encoder->Check(batch).message());
  };
  EXPECT_EQ(message(Batch({{5, 6, 7}})), "");
  EXPECT_THAT(message(Batch({{5, 9}})), HasSubstr("token id 9 is not in [0, 9)"));
  EXPECT_THAT(message(Batch({{5, 6, 7, 8}})), HasSubstr("3 is not in [0, 3)"));
  RaggedBatch batch = Batch({{5}});
  batch.segments = {2};
  EXPECT_THAT(message(batch), HasSubstr("segment 2 is not in [0, 2)"));
  batch = Batch({{5}});
  batch.positions = {-1};
  EXPECT_THAT(message(batch), HasSubstr("position -1"));
  batch.positions = {int64_t{1} << 40};  // no table that it could be outside of
  EXPECT_EQ(message(batch), "");
  batch.positions = {int64_t{1} << 62};
  EXPECT_THAT(message(batch), HasSubstr("position"));
}

TEST_F(EncoderTest, GlobalTokensNeedAPatternThatHasThem) {
  const RaggedBatch batch = Batch({{5, 6}, {}, {}, {}, {1, 0}});
  EXPECT_THAT(Create()->Check(batch).message(), HasSubstr("no global attention"));
  config_.patterns = {{"longformer", {{"window", "1"}}}};
  EXPECT_TRUE(Create()->Check(batch).ok());
}

TEST_F(EncoderTest, NamesWhatItCannotBuild) {
  config_.encodings = {{"spiral", {}, {}}};
  EXPECT_THAT(Create().status().message(), HasSubstr("\"spiral\""));
  config_.encodings = {};
  config_.patterns = {{"spiral", {}}};
  EXPECT_THAT(Create().status().message(), HasSubstr("\"spiral\""));
  config_.patterns = {{"dense", {}}};
  config_.activation = "softsign";
  EXPECT_THAT(Create().status().message(), HasSubstr("\"softsign\""));
}

}  // namespace
}  // namespace heed
