#include "model/train/features.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace heed {
namespace {

absl::StatusOr<Pretrained> OpenEncoder() {
  PretrainedOptions options;
  options.purpose = ConfigPurpose::kEncoder;
  return OpenPretrained("tests/golden/bert_model", options);
}

TEST(SentenceVectorsTest, DoesNotDependOnTheBatchATextIsIn) {
  const auto encoder = OpenEncoder();
  ASSERT_TRUE(encoder.ok()) << encoder.status();
  // More than one batch of texts, of different lengths.
  std::vector<std::string> texts;
  for (int i = 0; i < 70; ++i) texts.push_back(std::string(static_cast<size_t>(i % 7 + 1), 'a'));
  size_t last_progress = 0;
  const auto progress = [&](size_t done) {
    EXPECT_GT(done, last_progress);
    last_progress = done;
  };
  const auto all = SentenceVectors(*encoder, texts, progress);
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(last_progress, texts.size());
  ASSERT_EQ(all->sizes(), (std::vector<int64_t>{70, encoder->config.hidden_size}));
  for (const int64_t i : {0, 6, 69}) {
    const auto alone = SentenceVectors(*encoder, {texts[static_cast<size_t>(i)]}, [](size_t) {});
    ASSERT_TRUE(alone.ok());
    EXPECT_LT((all->select(0, i) - alone->select(0, 0)).abs().max().item<float>(), 1e-5) << i;
  }
}

TEST(SentenceVectorsTest, ShortensWhatIsTooLong) {
  const auto encoder = OpenEncoder();
  ASSERT_TRUE(encoder.ok()) << encoder.status();
  std::string text;
  for (int i = 0; i < 2000; ++i) text += "a ";
  EXPECT_TRUE(SentenceVectors(*encoder, {text}, [](size_t) {}).ok());
}

}  // namespace
}  // namespace heed
