#include "tests/model/checkpoint/architectures/parse.h"

namespace heed {
namespace {

using nlohmann::json;
using testing::ElementsAre;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kUnimplemented = absl::StatusCode::kUnimplemented;

// As transformers 5 writes it: four layers, the first and the last global.
json New() { return GoldenConfig("modernbert"); }

// The same model as transformers 4 writes it.
json Old() {
  json config = New();
  config.erase("layer_types");
  config.erase("rope_parameters");
  config["global_attn_every_n_layers"] = 3;
  config["global_rope_theta"] = 80000.0;
  config["local_rope_theta"] = 2000.0;
  config["position_embedding_type"] = "absolute";
  return config;
}

void ExpectSame(const ModelConfig& a, const ModelConfig& b) {
  EXPECT_EQ(a.layer_patterns, b.layer_patterns);
  ASSERT_EQ(a.encodings.size(), b.encodings.size());
  for (size_t i = 0; i < a.encodings.size(); ++i) EXPECT_TRUE(a.encodings[i] == b.encodings[i]);
}

TEST(ModernBertTest, EachKindOfLayerHasItsBase) {
  const ModelConfig config = MustParse(New());
  ASSERT_EQ(config.encodings.size(), 2);
  EXPECT_EQ(config.encodings[0].name, "rope");
  EXPECT_EQ(config.encodings[0].options.at("base"), "80000");
  EXPECT_THAT(config.encodings[0].layers, ElementsAre(0, 3));
  EXPECT_EQ(config.encodings[1].name, "rope");
  EXPECT_EQ(config.encodings[1].options.at("base"), "2000");
  EXPECT_THAT(config.encodings[1].layers, ElementsAre(1, 2));
  EXPECT_THAT(config.layer_patterns, ElementsAre(0, 1, 1, 0));
  ASSERT_EQ(config.patterns.size(), 2);
  EXPECT_EQ(config.patterns[0].name, "dense");
  EXPECT_EQ(config.patterns[1].name, "sliding_window");
  // local_attention counts both sides.
  EXPECT_EQ(config.patterns[1].options.at("window"), "4");
  EXPECT_EQ(config.max_tokens, 64);
}

TEST(ModernBertTest, OldAndNewFormsSayTheSame) { ExpectSame(MustParse(New()), MustParse(Old())); }

TEST(ModernBertTest, BasesHaveDefaults) {
  json config = Old();
  config.erase("global_rope_theta");
  config.erase("local_rope_theta");
  const ModelConfig parsed = MustParse(config);
  EXPECT_EQ(parsed.encodings[0].options.at("base"), "160000");
  EXPECT_EQ(parsed.encodings[1].options.at("base"), "10000");
}

// A kind that is left out has the defaults.
TEST(ModernBertTest, KindsMayBeLeftOut) {
  json config = New();
  config["rope_parameters"] = {{"full_attention", nullptr},
                               {"sliding_attention", {{"rope_theta", 300}}}};
  EXPECT_EQ(MustParse(config).encodings[0].options.at("base"), "160000");
  EXPECT_EQ(MustParse(config).encodings[1].options.at("base"), "300");
  config["rope_parameters"].erase("full_attention");
  EXPECT_EQ(MustParse(config).encodings[0].options.at("base"), "160000");
  config["rope_scaling"] = {{"rope_type", "linear"}, {"factor", 2.0}};
  ExpectRefused(config, kInvalid, "rope_scaling");
}

// The old form has one scaling for both kinds; the new one has it in each.
TEST(ModernBertTest, ScalingHoldsForBothKinds) {
  json fresh = New();
  for (const char* const kind : {"full_attention", "sliding_attention"}) {
    fresh["rope_parameters"][kind]["rope_type"] = "linear";
    fresh["rope_parameters"][kind]["factor"] = 2.0;
  }
  const ModelConfig parsed = MustParse(fresh);
  for (const EncodingConfig& encoding : parsed.encodings) {
    EXPECT_EQ(encoding.options.at("scaling"), "linear");
    EXPECT_EQ(encoding.options.at("factor"), "2");
  }
  ExpectSame(parsed,
             MustParse(With(Old(), "rope_scaling", {{"rope_type", "linear"}, {"factor", 2.0}})));
}

TEST(ModernBertTest, OneKindOfLayerHasOneEncoding) {
  const ModelConfig parsed = MustParse(With(New(), "layer_types", json(4, "sliding_attention")));
  ASSERT_EQ(parsed.encodings.size(), 1);
  EXPECT_EQ(parsed.encodings[0].options.at("base"), "2000");
  EXPECT_THAT(parsed.encodings[0].layers, ElementsAre(0, 1, 2, 3));
}

TEST(ModernBertTest, RefusesWhatItCannotRead) {
  ExpectRefused(With(New(), "layer_types", json(4, "chunked_attention")), kUnimplemented,
                "layer_types");
  ExpectRefused(With(New(), "layer_types", json(3, "full_attention")), kInvalid, "layer_types");
  ExpectRefused(With(Old(), "position_embedding_type", "relative_key"), kUnimplemented,
                "position_embedding_type");
  ExpectRefused(With(Old(), "global_rope_theta", -1), kInvalid, "global_rope_theta");
  ExpectRefused(With(Old(), "rope_scaling", {{"type", "longrope"}}), kUnimplemented, "rope_scaling",
                "\"longrope\"");
  ExpectRefused(With(Old(), "alibi", true), kUnimplemented, "alibi", "\"rope+rope\"");
}

// One dictionary for all layers is not ModernBERT's form: which bases it means is not said.
TEST(ModernBertTest, RefusesParametersOfNoKind) {
  ExpectRefused(With(New(), "rope_parameters", {{"rope_type", "yarn"}, {"factor", 4}}), kInvalid,
                "rope_parameters");
  ExpectRefused(With(New(), "rope_parameters", json::array({1})), kInvalid, "rope_parameters");
  ExpectRefused(With(New(), "rope_parameters", {{"full_attention", 3}}), kInvalid,
                "rope_parameters");
  ExpectRefused(With(New(), "rope_scaling", "linear"), kInvalid, "rope_scaling");
}

TEST(ModernBertTest, RefusesContradictions) {
  ExpectRefused(With(New(), "global_rope_theta", 10000), kInvalid, "global_rope_theta");
  ExpectRefused(With(New(), "local_rope_theta", 10000), kInvalid, "local_rope_theta");
  ExpectRefused(With(New(), "rope_scaling", {{"rope_type", "linear"}, {"factor", 2.0}}), kInvalid,
                "rope_scaling");
  // Said twice, but the same.
  json both = New();
  both["global_rope_theta"] = 80000;
  both["local_rope_theta"] = 2000;
  ExpectSame(MustParse(both), MustParse(New()));
}

}  // namespace
}  // namespace heed
