#include "tests/model/checkpoint/architectures/parse.h"

namespace heed {
namespace {

using nlohmann::json;
using testing::ElementsAre;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

json Cnn() { return {{"model_type", "text_cnn"}, {"hidden_size", 8}, {"vocab_size", 30}}; }

// The defaults are those of Kim, 2014, arXiv:1408.5882, section 3.1.
TEST(TextCnnConfigTest, Defaults) {
  const ModelConfig config = MustParse(Cnn());
  EXPECT_THAT(config.text_cnn.kernel_sizes, ElementsAre(3, 4, 5));
  EXPECT_EQ(config.text_cnn.filter_count, 100);
  EXPECT_EQ(config.max_tokens, 0);
  EXPECT_TRUE(config.encodings.empty());
  EXPECT_FALSE(config.reads_segments);
}

TEST(TextCnnConfigTest, ReadsItsFields) {
  json fields = Cnn();
  fields.update({{"kernel_sizes", {2, 7}}, {"filter_count", 6}, {"max_position_embeddings", 12}});
  const ModelConfig config = MustParse(fields);
  EXPECT_THAT(config.text_cnn.kernel_sizes, ElementsAre(2, 7));
  EXPECT_EQ(config.text_cnn.filter_count, 6);
  EXPECT_EQ(config.max_tokens, 12);
}

TEST(TextCnnConfigTest, RefusesBadFields) {
  for (const json& sizes : {json{0}, json{2, "3"}, json(3), json{{"a", 3}}, json::array()}) {
    ExpectRefused(With(Cnn(), "kernel_sizes", sizes), kInvalid, "kernel_sizes");
  }
  ExpectRefused(With(Cnn(), "filter_count", 0), kInvalid, "filter_count");
  ExpectRefused(With(Cnn(), "positional_encoding", "rope"), absl::StatusCode::kUnimplemented,
                "positional_encoding");
}

}  // namespace
}  // namespace heed
