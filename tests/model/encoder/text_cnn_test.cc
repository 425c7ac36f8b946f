#include "model/encoder/text_cnn.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/model/encoder/fake_weights.h"
#include "tests/model/encoder/naive.h"

namespace heed {
namespace {

using testing::HasSubstr;

constexpr int64_t kVocabulary = 9;
constexpr int64_t kWidth = 3;
constexpr int64_t kFilters = 4;
constexpr int64_t kLabels = 2;

class TextCnnTest : public testing::Test {
 protected:
  TextCnnTest() {
    config_.text_cnn = {{2, 3, 5}, kFilters};
    config_.max_tokens = 12;
    word_ = fake_.AddRandom("embeddings.word", {kVocabulary, kWidth});
    for (size_t i = 0; i < config_.text_cnn.kernel_sizes.size(); ++i) {
      const std::string role = "convolutions." + std::to_string(i);
      kernels_.push_back(
          fake_.AddRandom(role + ".weight", {kFilters, kWidth, config_.text_cnn.kernel_sizes[i]}));
      biases_.push_back(fake_.AddRandom(role + ".bias", {kFilters}));
    }
    classifier_ = fake_.AddRandom("classifier.weight", {kLabels, 3 * kFilters});
    classifier_bias_ = fake_.AddRandom("classifier.bias", {kLabels});
  }

  TextCnn Make() {
    const Weights weights(fake_.map());
    return TextCnn(config_, weights);
  }

  // Kim's equations 2 to 4, one window at a time; zeros where the text has ended.
  Vector Naive(const TokenIds& text) const {
    const auto n = static_cast<int64_t>(text.size());
    Vector features;
    for (size_t i = 0; i < kernels_.size(); ++i) {
      const int64_t size = config_.text_cnn.kernel_sizes[i];
      for (int64_t f = 0; f < kFilters; ++f) {
        double largest = 0;  // of a rectified window
        for (int64_t begin = 0; begin + size <= std::max(n, size); ++begin) {
          double sum = biases_[i][f];
          for (int64_t k = 0; k < size && begin + k < n; ++k) {
            if (!text.key_mask.empty() && text.key_mask[begin + k] == 0) continue;
            for (int64_t d = 0; d < kWidth; ++d) {
              sum += kernels_[i][(f * kWidth + d) * size + k] *
                     word_[text.ids[begin + k] * kWidth + d];
            }
          }
          largest = std::max(largest, sum);
        }
        features.push_back(largest);
      }
    }
    return NaiveLinear(ToMatrix(classifier_, kLabels),
                       {classifier_bias_.begin(), classifier_bias_.end()}, features);
  }

  void ExpectNaive(const std::vector<TokenIds>& texts) {
    RaggedBatch batch;
    for (const TokenIds& text : texts) batch.Append(text);
    const TextCnn model = Make();
    ASSERT_TRUE(model.Check(batch).ok());
    const at::Tensor logits = model.Forward(batch);
    ASSERT_EQ(logits.sizes(), (std::vector<int64_t>{static_cast<int64_t>(texts.size()), kLabels}));
    for (size_t b = 0; b < texts.size(); ++b) {
      const Vector expected = Naive(texts[b]);
      for (int64_t c = 0; c < kLabels; ++c) {
        EXPECT_NEAR(logits[static_cast<int64_t>(b)][c].item<float>(), expected[c], 1e-5)
            << "text " << b << ", label " << c;
      }
    }
  }

  static TokenIds Text(std::vector<int64_t> ids, std::vector<uint8_t> key_mask = {}) {
    TokenIds text;
    text.segments.assign(ids.size(), 0);
    text.ids = std::move(ids);
    text.key_mask = std::move(key_mask);
    return text;
  }

  FakeWeights fake_;
  ModelConfig config_;
  std::vector<float> word_;
  std::vector<std::vector<float>> kernels_;
  std::vector<std::vector<float>> biases_;
  std::vector<float> classifier_;
  std::vector<float> classifier_bias_;
};

TEST_F(TextCnnTest, MatchesTheFormulaInFloat64) {
  ExpectNaive({Text({1, 2, 3, 4, 5, 6, 7, 8}), Text({8, 1, 8, 1, 2})});
}

TEST_F(TextCnnTest, TextsShorterThanAKernelAreFollowedByZeros) {
  ExpectNaive({Text({3}), Text({1, 2}), Text({4, 5, 6}), Text({7, 8, 1, 2}), Text({3})});
}

TEST_F(TextCnnTest, HiddenTokensEnterAsZeros) {
  ExpectNaive({Text({1, 2, 3, 4, 5, 6}, {1, 0, 1, 1, 0, 1}), Text({7, 8}, {0, 0}), Text({5})});
}

TEST_F(TextCnnTest, TextDoesNotSeeItsNeighbours) {
  RaggedBatch batch;
  batch.Append(Text({1, 2, 3}));
  batch.Append(Text({4, 5, 6, 7, 8, 1}));
  const TextCnn model = Make();
  const at::Tensor before = model.Forward(batch);
  batch.ids[3] = 8;
  const at::Tensor after = model.Forward(batch);
  EXPECT_TRUE(after[0].equal(before[0]));
  EXPECT_FALSE(after[1].equal(before[1]));
}

TEST_F(TextCnnTest, ChecksTheBatch) {
  const TextCnn model = Make();
  RaggedBatch batch;
  EXPECT_EQ(model.Check(batch).code(), absl::StatusCode::kInvalidArgument);  // no text
  batch.Append(Text({1, kVocabulary}));
  EXPECT_THAT(model.Check(batch).message(), HasSubstr("token id 9 is not in [0, 9)"));
  batch = {};
  batch.Append(Text(std::vector<int64_t>(12, 1)));
  EXPECT_TRUE(model.Check(batch).ok());
  batch.Append(Text(std::vector<int64_t>(13, 1)));
  EXPECT_THAT(model.Check(batch).message(), HasSubstr("12 is not in [0, 12)"));
}

}  // namespace
}  // namespace heed
