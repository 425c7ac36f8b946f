// ProbeMasking over real gRPC.
#include <algorithm>
#include <string>
#include <vector>

#include "tests/server/probe_fixture.h"

namespace heed {
namespace {

// A tokenizer of a family that has no mask token: it takes "[MASK]" apart.
class UnmaskedTokenizer : public FakeTokenizer {
 public:
  absl::StatusOr<TokenizedItem> Encode(absl::string_view text,
                                       std::optional<absl::string_view> pair,
                                       const EncodeOptions& options) const override {
    auto item = FakeTokenizer::Encode(text, pair, options);
    if (!item.ok()) return item;
    for (TokenDetail& token : item->tokens) token.piece = "_" + token.piece;
    return item;
  }
};

// The fake knows "[MASK]" as a word: a token of id 16.
constexpr int64_t kMask = 16;

class ServiceMaskingTest : public ProbeFixture {
 protected:
  void SetUp() override {
    AddModel("unmasked", unmasked_, false);
    ProbeFixture::SetUp();
  }
  void AddModel(const std::string& name, const std::shared_ptr<FakeRunner>& runner, bool pairs) {
    auto model = std::make_unique<ServedModel>();
    model->name = name;
    runner->mutable_info().accepts_pairs = pairs;
    model->model = {std::make_shared<UnmaskedTokenizer>(), runner, {}};
    model->scheduler = std::make_unique<BatchScheduler>(runner.get(), &clock_, scheduler_limits_,
                                                        metrics_.AddModel(name, runner->info()));
    registry_.Add(std::move(model));
  }

  std::shared_ptr<FakeRunner> unmasked_ = std::make_shared<FakeRunner>();
};

// "yes" as long as no more than two tokens are masked; its score is 1 - a tenth for each.
RunOutput ByMasks(const RaggedBatch& batch) {
  RunOutput output;
  for (size_t b = 0; b < batch.text_count(); ++b) {
    const auto masks =
        static_cast<float>(std::count(batch.ids.begin() + batch.cu_seqlens[b],
                                      batch.ids.begin() + batch.cu_seqlens[b + 1], kMask));
    const float yes = masks > 2 ? 0.25F : 1 - masks / 10;
    output.logits.insert(output.logits.end(), {1 - yes, yes});
    output.scores.insert(output.scores.end(), {1 - yes, yes});
  }
  return output;
}

TEST_F(ServiceMaskingTest, OneResultAFraction) {
  plain_->SetBehaviour(ByMasks);
  v1::ProbeMaskingResponse response;
  ASSERT_TRUE(
      Ask("input { text: 'a b c d e f g h' } fractions: [0.25, 0.5, 0.1] repeat_count: 7", response)
          .ok());
  EXPECT_EQ(response.original().labels(0).label(), "yes");
  EXPECT_EQ(response.original().labels(0).score(), 1);
  EXPECT_EQ(response.original().usage().token_count(), 10U);
  ASSERT_EQ(response.results_size(), 3);
  const std::vector<std::vector<float>> expected = {
      {0.25F, 1, 0.8F}, {0.5F, 0, 0.25F}, {0.1F, 1, 0.9F}};
  for (int i = 0; i < 3; ++i) {
    const v1::MaskingResult& result = response.results(i);
    EXPECT_EQ(result.fraction(), expected[i][0]);
    EXPECT_NEAR(result.label_agreement(), expected[i][1], 1e-6);
    EXPECT_LE(result.label_agreement(), 1);
    EXPECT_NEAR(result.mean_score_of_original_label(), expected[i][2], 1e-6);
  }
  const std::vector<std::vector<int64_t>> texts = Texts(*plain_);
  ASSERT_EQ(texts.size(), 22U);
  for (const std::vector<int64_t>& text : texts) {
    EXPECT_EQ(text.size(), 10U);
    EXPECT_EQ(text.front(), 1);
    EXPECT_EQ(text.back(), 2);
  }
}

TEST_F(ServiceMaskingTest, DroppingShortensTheText) {
  v1::ProbeMaskingResponse response;
  ASSERT_TRUE(
      Ask("input { text: 'a bb ccc dddd' } fractions: 0.5 repeat_count: 3 drop: true", response)
          .ok());
  const std::vector<std::vector<int64_t>> texts = Texts(*plain_);
  ASSERT_EQ(texts.size(), 4U);
  double score = 0;
  for (size_t i = 1; i < 4; ++i) {
    ASSERT_EQ(texts[i].size(), 4U);
    EXPECT_TRUE(std::is_sorted(texts[i].begin(), texts[i].end() - 1));
    const int64_t sum = 1 + texts[i][1] + texts[i][2] + 2;
    score += static_cast<double>(sum) / static_cast<double>(1 + sum) / 3;
  }
  EXPECT_NEAR(response.results(0).mean_score_of_original_label(), score, 1e-6);
}

TEST_F(ServiceMaskingTest, ASeedDecidesWhatIsMasked) {
  const std::string request =
      "input { text: 'a bb ccc dddd e f g h' } fractions: 0.4 repeat_count: 4 seed: ";
  std::vector<std::vector<std::vector<int64_t>>> runs;
  for (const char* const seed : {"8", "8", "9"}) {
    const size_t before = Texts(*plain_).size();
    v1::ProbeMaskingResponse response;
    ASSERT_TRUE(Ask(request + seed, response).ok());
    const std::vector<std::vector<int64_t>> texts = Texts(*plain_);
    runs.emplace_back(texts.begin() + static_cast<int64_t>(before), texts.end());
  }
  EXPECT_EQ(runs[0], runs[1]);
  EXPECT_NE(runs[0], runs[2]);
}

TEST_F(ServiceMaskingTest, WithoutAMaskTokenOnlyDroppingWorks) {
  const std::string request =
      "model { name: 'unmasked' } input { text: 'a b c' } fractions: 0.5 repeat_count: 1";
  const Error error = MaskingError(request);
  EXPECT_EQ(error.code, grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(error.reason, "NO_MASK_TOKEN");
  EXPECT_EQ(error.metadata.at("field"), "drop");
  v1::ProbeMaskingResponse response;
  EXPECT_TRUE(Ask(request + " drop: true", response).ok());
}

TEST_F(ServiceMaskingTest, ModelsWithoutAttentionCanBeMasked) {
  v1::ProbeMaskingResponse response;
  EXPECT_TRUE(
      Ask("model { name: 'blind' } input { text: 'a' } fractions: 0.5 repeat_count: 1", response)
          .ok());
}

// A text of special tokens stays what it is.
TEST_F(ServiceMaskingTest, AnEmptyTextAgreesWithItself) {
  v1::ProbeMaskingResponse response;
  ASSERT_TRUE(Ask("input { text: '' } fractions: 0.5 repeat_count: 3", response).ok());
  EXPECT_EQ(response.results(0).label_agreement(), 1);
}

TEST_F(ServiceMaskingTest, ErrorsNameTheirFields) {
  const auto field = [&](const std::string& request) {
    const Error error = MaskingError("input { text: 'a' } " + request);
    EXPECT_EQ(error.code, grpc::StatusCode::INVALID_ARGUMENT);
    return error.reason + " " + (error.fields.empty() ? "" : error.fields[0]);
  };
  EXPECT_EQ(field("repeat_count: 1"), "OUT_OF_RANGE fractions");
  EXPECT_EQ(field("fractions: 0 repeat_count: 1"), "OUT_OF_RANGE fractions[0]");
  EXPECT_EQ(field("fractions: [0.5, 1] repeat_count: 1"), "OUT_OF_RANGE fractions[1]");
  EXPECT_EQ(field("fractions: nan repeat_count: 1"), "OUT_OF_RANGE fractions[0]");
  EXPECT_EQ(field("fractions: 0.5"), "OUT_OF_RANGE repeat_count");
  EXPECT_EQ(field("fractions: 0.5 repeat_count: 1025"), "OUT_OF_RANGE repeat_count");
  std::string many;
  for (int i = 0; i < 65; ++i) many += "fractions: 0.5 ";
  EXPECT_EQ(field(many + "repeat_count: 1"), "OUT_OF_RANGE fractions");
  const Error missing = MaskingError("fractions: 0.5 repeat_count: 1");
  EXPECT_EQ(missing.fields, Strings{"input"});
}

}  // namespace
}  // namespace heed
