#include "model/attention/pattern.h"
#include "model/positional/encoding.h"
#include "tests/model/checkpoint/architectures/parse.h"

namespace heed {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::Pair;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kUnimplemented = absl::StatusCode::kUnimplemented;

json Heed() {
  return {{"model_type", "heed"},         {"hidden_size", 8},        {"num_hidden_layers", 2},
          {"num_attention_heads", 2},     {"intermediate_size", 12}, {"vocab_size", 30},
          {"max_position_embeddings", 64}};
}

TEST(HeedTest, Defaults) {
  const ModelConfig config = MustParse(Heed());
  EXPECT_TRUE(config.pre_norm);
  EXPECT_TRUE(config.final_norm);
  EXPECT_FALSE(config.embedding_norm);
  EXPECT_EQ(config.norm, NormKind::kLayerNorm);
  EXPECT_DOUBLE_EQ(config.norm_eps, 1e-5);
  EXPECT_EQ(config.activation, "gelu");
  EXPECT_FALSE(config.gated);
  EXPECT_EQ(config.segment_count, 0);
  EXPECT_FALSE(config.reads_segments);
  EXPECT_EQ(config.max_tokens, 64);
  ASSERT_EQ(config.encodings.size(), 1);
  EXPECT_EQ(config.encodings[0].name, "none");
  ASSERT_EQ(config.patterns.size(), 1);
  EXPECT_EQ(config.patterns[0].name, "dense");
  EXPECT_EQ(config.head.pooling, Pooling::kMean);
  EXPECT_EQ(config.head.dense, "");
}

TEST(HeedTest, EveryEncodingWithEveryPattern) {
  for (const std::string& encoding : PositionalEncodingNames()) {
    for (const std::string& pattern : AttentionPatternNames()) {
      const ModelConfig config = MustParse(
          With(With(Heed(), "positional_encoding", encoding), "attention_pattern", pattern));
      ASSERT_EQ(config.encodings.size(), 1);
      EXPECT_EQ(config.encodings[0].name, encoding);
      EXPECT_TRUE(config.encodings[0].layers.empty());
      ASSERT_EQ(config.patterns.size(), 1);
      EXPECT_EQ(config.patterns[0].name, pattern);
    }
  }
}

// What the options may be is the encoding's and the pattern's to say.
TEST(HeedTest, OptionsArePassedOnAsText) {
  json config = Heed();
  config["positional_options"] = {{"a", "text"}, {"b", 3}, {"c", 0.1}, {"d", true}, {"e", -2}};
  config["attention_options"] = {{"window", 3}, {"global_tokens", "0,7"}};
  const ModelConfig parsed = MustParse(config);
  EXPECT_THAT(parsed.encodings[0].options,
              ElementsAre(Pair("a", "text"), Pair("b", "3"), Pair("c", "0.10000000000000001"),
                          Pair("d", "true"), Pair("e", "-2")));
  EXPECT_THAT(parsed.patterns[0].options,
              ElementsAre(Pair("global_tokens", "0,7"), Pair("window", "3")));
}

TEST(HeedTest, OptionsAreScalars) {
  for (const char* const field : {"positional_options", "attention_options"}) {
    ExpectRefused(With(Heed(), field, json::array({1})), kInvalid, field);
    ExpectRefused(With(Heed(), field, "window"), kInvalid, field);
    ExpectRefused(With(Heed(), field, {{"window", {1, 2}}}), kInvalid, field, "\"window\"");
    ExpectRefused(With(Heed(), field, {{"window", nullptr}}), kInvalid, field, "\"window\"");
  }
}

TEST(HeedTest, GatedActivations) {
  const auto parsed = [](const char* activation) {
    return MustParse(With(Heed(), "hidden_act", activation));
  };
  for (const auto& [name, activation] :
       {std::pair("geglu", "gelu"), std::pair("swiglu", "silu"), std::pair("reglu", "relu")}) {
    EXPECT_TRUE(parsed(name).gated) << name;
    EXPECT_EQ(parsed(name).activation, activation);
  }
  EXPECT_FALSE(parsed("silu").gated);
  EXPECT_EQ(parsed("silu").activation, "silu");
  ExpectRefused(With(Heed(), "hidden_act", "xglu"), kUnimplemented, "hidden_act");
}

TEST(HeedTest, Heads) {
  EXPECT_EQ(MustParse(With(Heed(), "pooling", "mean")).head.pooling, Pooling::kMean);
  EXPECT_EQ(MustParse(With(Heed(), "pooling", "cls")).head.pooling, Pooling::kFirst);
  ExpectRefused(With(Heed(), "pooling", "max"), kInvalid, "pooling");
  EXPECT_EQ(MustParse(With(Heed(), "architectures", {"HeedForTokenClassification"})).head.pooling,
            Pooling::kTokens);
  ExpectRefused(With(Heed(), "architectures", {"HeedModel"}), kUnimplemented, "architectures");
}

TEST(HeedTest, Segments) {
  const ModelConfig config = MustParse(With(Heed(), "type_vocab_size", 2));
  EXPECT_EQ(config.segment_count, 2);
  EXPECT_TRUE(config.reads_segments);
}

TEST(HeedTest, RefusesASecondPositionalEncoding) {
  const json config = With(With(Heed(), "positional_encoding", "learned"), "alibi", true);
  ExpectRefused(config, kUnimplemented, "alibi", "field \"positional_encoding\"");
  ExpectRefused(config, kUnimplemented, "alibi", "\"learned\"");
  // That architecture's word for it is no word of this one.
  ExpectRefused(With(With(Heed(), "positional_encoding", "learned"), "position_embedding_type",
                     "relative_key"),
                kUnimplemented, "position_embedding_type", "field \"positional_encoding\"");
}

TEST(HeedTest, RefusesWhatItDoesNotKnow) {
  ExpectRefused(With(Heed(), "residual_scale", 2), kUnimplemented, "residual_scale");
  ExpectRefused(With(Heed(), "num_attention_heads", 3), kInvalid, "num_attention_heads");
  ExpectRefused(With(Heed(), "is_decoder", true), kUnimplemented, "is_decoder");
}

}  // namespace
}  // namespace heed
