#include "tests/model/checkpoint/architectures/parse.h"

namespace heed {
namespace {

using nlohmann::json;

json Of(const std::string& field, const json& value) {
  return With(GoldenConfig("xlnet"), field, value);
}

TEST(XlnetTest, ReadsTheSummary) {
  const ModelConfig config = MustParse(GoldenConfig("xlnet"));
  ASSERT_EQ(config.encodings.size(), 1);
  EXPECT_EQ(config.encodings[0].name, "xlnet_relative");
  EXPECT_EQ(config.head.pooling, Pooling::kLast);
  EXPECT_EQ(MustParse(Of("summary_type", "first")).head.pooling, Pooling::kFirst);
  EXPECT_EQ(MustParse(Of("summary_activation", "tanh")).head.dense_activation, "tanh");
  EXPECT_EQ(MustParse(Of("summary_activation", nullptr)).head.dense_activation, "");
  EXPECT_TRUE(MustParse(Of("clamp_len", -1)).encodings[0].options.empty());
  EXPECT_EQ(MustParse(Of("clamp_len", 64)).encodings[0].options.at("clamp_len"), "64");
}

TEST(XlnetTest, RefusesWhatItDoesNotCompute) {
  const std::pair<const char*, json> fields[] = {
      {"attn_type", "uni"},
      {"bi_data", true},
      {"same_length", true},
      {"summary_type", "attn"},
      {"summary_type", "mean"},
      {"summary_use_proj", false},
      {"summary_activation", "x"},
      {"rope_theta", 10000},
      {"architectures", {"XLNetLMHeadModel"}},
  };
  for (const auto& [field, value] : fields) {
    ExpectRefused(Of(field, value), absl::StatusCode::kUnimplemented, field);
  }
}

}  // namespace
}  // namespace heed
