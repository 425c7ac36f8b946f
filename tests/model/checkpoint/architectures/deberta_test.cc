#include <cmath>

#include "tests/model/checkpoint/architectures/parse.h"

namespace heed {
namespace {

using nlohmann::json;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kUnimplemented = absl::StatusCode::kUnimplemented;

const EncodingConfig* Find(const ModelConfig& config, const std::string& name) {
  for (const EncodingConfig& encoding : config.encodings) {
    if (encoding.name == name) return &encoding;
  }
  return nullptr;
}

json Of(const std::string& name, const json& changes) {
  json config = GoldenConfig(name);
  config.update(changes);
  return config;
}

// With one term both go into the scale by their number: He et al., 2021, arXiv:2006.03654,
// equation 4 divides by sqrt(3d) where content, c2p and p2c are summed.
TEST(DebertaTest, TermsDecideTheScale) {
  for (const char* const name : {"deberta", "deberta_v2"}) {
    const json base = Of(name, {{"relative_attention", true}});
    const double size = static_cast<double>(MustParse(base).head_width());
    const auto parsed = [&](const json& terms) {
      return MustParse(With(base, "pos_att_type", terms));
    };
    const ModelConfig both = parsed({"c2p", "p2c"});
    ASSERT_NE(Find(both, "disentangled"), nullptr);
    EXPECT_FALSE(Find(both, "disentangled")->options.contains("terms"));
    EXPECT_DOUBLE_EQ(both.attention_scale, 1 / std::sqrt(3 * size));
    const ModelConfig one = parsed({"p2c"});
    EXPECT_EQ(Find(one, "disentangled")->options.at("terms"), "p2c");
    EXPECT_DOUBLE_EQ(one.attention_scale, 1 / std::sqrt(2 * size));
    EXPECT_EQ(Find(parsed({"c2p"}), "disentangled")->options.at("terms"), "c2p");
    const ModelConfig none = parsed(json::array());
    EXPECT_EQ(Find(none, "disentangled"), nullptr);
    EXPECT_DOUBLE_EQ(none.attention_scale, 1 / std::sqrt(size));
  }
}

// Old files have one string with bars.
TEST(DebertaTest, TermsMayBeOneString) {
  const json base = Of("deberta_v2", {{"relative_attention", true}});
  const ModelConfig list = MustParse(With(base, "pos_att_type", {"p2c", "c2p"}));
  const ModelConfig text = MustParse(With(base, "pos_att_type", "p2c|C2P"));
  EXPECT_TRUE(*Find(list, "disentangled") == *Find(text, "disentangled"));
  EXPECT_EQ(list.attention_scale, text.attention_scale);
}

TEST(DebertaTest, RefusesOtherTerms) {
  for (const char* const name : {"deberta", "deberta_v2"}) {
    ExpectRefused(Of(name, {{"pos_att_type", {"c2p", "p2p"}}}), kUnimplemented, "pos_att_type");
    ExpectRefused(Of(name, {{"pos_att_type", {1}}}), kUnimplemented, "pos_att_type");
  }
}

TEST(DebertaTest, AbsolutePositionsOnlyWhereTheInputIsBiased) {
  const ModelConfig without = MustParse(Of("deberta", {{"position_biased_input", false}}));
  EXPECT_EQ(Find(without, "learned"), nullptr);
  EXPECT_EQ(without.max_tokens, without.position_count);
  const ModelConfig with = MustParse(Of("deberta", {{"position_biased_input", true}}));
  EXPECT_NE(Find(with, "learned"), nullptr);
  EXPECT_NE(Find(with, "disentangled"), nullptr);
}

// -1: as far as there are positions.
TEST(DebertaTest, DistanceAndBuckets) {
  const auto options = [](const json& changes) {
    return Find(MustParse(Of("deberta_v2", changes)), "disentangled")->options;
  };
  EXPECT_EQ(options({{"max_relative_positions", 14}, {"position_buckets", -1}}).at("max_distance"),
            "14");
  EXPECT_FALSE(options({{"position_buckets", -1}}).contains("buckets"));
  EXPECT_EQ(options({{"position_buckets", 8}}).at("buckets"), "8");
  const int64_t positions = MustParse(GoldenConfig("deberta_v2")).position_count;
  EXPECT_EQ(options({{"max_relative_positions", -1}}).at("max_distance"),
            std::to_string(positions));
  // The table has a row for each bucket, or for each distance.
  EXPECT_EQ(MustParse(Of("deberta_v2", {{"position_buckets", 8}})).layout.relative_span, 8);
  EXPECT_EQ(MustParse(Of("deberta_v2", {{"position_buckets", -1}, {"max_relative_positions", 14}}))
                .layout.relative_span,
            14);
}

TEST(DebertaTest, NormOfTheRelativeTable) {
  const auto norm = [](const json& value) {
    return MustParse(Of("deberta_v2", {{"norm_rel_ebd", value}})).layout.relative_norm;
  };
  EXPECT_TRUE(norm("layer_norm"));
  EXPECT_TRUE(norm("LAYER_NORM|none"));
  EXPECT_FALSE(norm("none"));
  EXPECT_FALSE(norm(nullptr));
  ExpectRefused(Of("deberta_v2", {{"norm_rel_ebd", "rms"}}), kUnimplemented, "norm_rel_ebd");
}

TEST(DebertaTest, Convolution) {
  const ModelConfig config =
      MustParse(Of("deberta_v2_conv", {{"conv_kernel_size", 5}, {"conv_groups", 2}}));
  EXPECT_EQ(config.convolution.kernel_size, 5);
  EXPECT_EQ(config.convolution.groups, 2);
  EXPECT_EQ(config.convolution.activation, "gelu");
  EXPECT_EQ(MustParse(Of("deberta_v2_conv", {{"conv_kernel_size", 0}})).convolution.kernel_size, 0);
  ExpectRefused(Of("deberta_v2_conv", {{"conv_kernel_size", 4}}), kUnimplemented,
                "conv_kernel_size");
  ExpectRefused(Of("deberta_v2_conv", {{"conv_groups", 7}}), kInvalid, "conv_groups");
  // The first version has none.
  ExpectRefused(Of("deberta", {{"conv_kernel_size", 3}}), kUnimplemented, "conv_kernel_size");
}

TEST(DebertaTest, RefusesWhatItDoesNotCompute) {
  ExpectRefused(Of("deberta", {{"talking_head", true}}), kUnimplemented, "talking_head");
  ExpectRefused(Of("deberta_v2", {{"attention_head_size", 7}}), kUnimplemented,
                "attention_head_size");
  ExpectRefused(Of("deberta_v2", {{"embedding_size", 3}}), kUnimplemented, "embedding_size");
  ExpectRefused(Of("deberta_v2", {{"pooler_hidden_size", 3}}), kUnimplemented,
                "pooler_hidden_size");
  ExpectRefused(Of("deberta_v2", {{"rope_theta", 10000}}), kUnimplemented, "rope_theta",
                "disentangled");
}

}  // namespace
}  // namespace heed
