// Whole models against reference outputs of transformers: logits, scores and every hidden state.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "model/engine.h"
#include "tests/model/golden.h"

namespace heed {
namespace {

constexpr double kLogitTolerance = 2e-5;
constexpr double kScoreTolerance = 1e-5;
constexpr double kHiddenTolerance = 1e-4;

class ParityTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    absl::StatusOr<LoadedModel> model = LoadModel(std::string("tests/golden/") + GetParam());
    ASSERT_TRUE(model.ok()) << model.status();
    model_ = *std::move(model);
  }

  RunOutput Run(const RaggedBatch& batch) {
    Wants wants;
    wants.hidden_states = true;
    absl::StatusOr<RunOutput> output = model_.runner->Run(batch, wants);
    EXPECT_TRUE(output.ok()) << output.status();
    return *std::move(output);
  }

  LoadedModel model_;
};

double MaxDifference(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  double largest = 0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(a[i]) - b[i]));
  }
  return largest;
}

// Largest difference over rows of real tokens; the reference is padded to [B, L, D].
double MaxHiddenDifference(const GoldenCase& golden, const RaggedBatch& batch,
                           const std::vector<float>& ragged, const std::vector<float>& padded) {
  const size_t width = ragged.size() / batch.token_count();
  double largest = 0;
  for (int64_t row = 0; row < golden.rows(); ++row) {
    for (int64_t i = 0; i < golden.length(row); ++i) {
      const size_t token = batch.cu_seqlens[row] + i;
      if (!batch.key_mask.empty() && batch.key_mask[token] == 0) continue;
      const size_t reference = row * golden.width() + i;
      for (size_t d = 0; d < width; ++d) {
        largest = std::max(largest, std::abs(static_cast<double>(ragged[token * width + d]) -
                                             padded[reference * width + d]));
      }
    }
  }
  return largest;
}

TEST_P(ParityTest, MatchesTheReference) {
  int compared = 0;
  for (const GoldenCase& golden : ReadGoldenCases(GetParam())) {
    SCOPED_TRACE(golden.id());
    RaggedBatch batch;
    for (int64_t row = 0; row < golden.rows(); ++row) batch.Append(golden.Row(row));
    const RunOutput output = Run(batch);
    EXPECT_LE(MaxDifference(output.logits, golden.Values<float>("logits")), kLogitTolerance);
    if (golden.Has("probabilities")) {
      EXPECT_LE(MaxDifference(output.scores, golden.Values<float>("probabilities")),
                kScoreTolerance);
    } else {
      EXPECT_EQ(output.scores, output.logits);  // regression
    }
    ASSERT_EQ(static_cast<int64_t>(output.hidden_states.size()), golden.hidden_state_count());
    for (size_t layer = 0; layer < output.hidden_states.size(); ++layer) {
      EXPECT_LE(MaxHiddenDifference(golden, batch, output.hidden_states[layer],
                                    golden.Values<float>("hidden_states." + std::to_string(layer))),
                kHiddenTolerance)
          << "hidden state " << layer;
    }
    ++compared;
  }
  EXPECT_GE(compared, 4);
}

// The tokenizer turns the reference's texts into the reference's ids.
TEST_P(ParityTest, TokenizesTheSame) {
  for (const GoldenCase& golden : ReadGoldenCases(GetParam())) {
    SCOPED_TRACE(golden.id());
    for (int64_t row = 0; row < golden.rows(); ++row) {
      const auto& text = golden.description()["texts"][row];
      const std::string first = text[0];
      const std::string second = text[1].is_null() ? "" : text[1].get<std::string>();
      std::optional<absl::string_view> pair;
      if (!text[1].is_null()) pair = second;
      const auto item = model_.tokenizer->Encode(first, pair, {});
      ASSERT_TRUE(item.ok()) << item.status();
      EXPECT_EQ(item->input.ids, golden.Row(row).ids);
      EXPECT_EQ(item->input.segments, golden.Row(row).segments);
    }
  }
}

// A text alone and among others: the ragged batch has no padding to leak.
TEST_P(ParityTest, AloneEqualsBatched) {
  std::vector<TokenIds> texts;
  RaggedBatch batch;
  for (const GoldenCase& golden : ReadGoldenCases(GetParam())) {
    for (int64_t row = 0; row < golden.rows(); ++row) texts.push_back(golden.Row(row));
  }
  for (const TokenIds& text : texts) batch.Append(text);
  const std::vector<float> together = Run(batch).logits;
  const size_t labels = model_.info().labels.size();
  for (size_t b = 0; b < texts.size(); ++b) {
    RaggedBatch alone;
    alone.Append(texts[b]);
    const std::vector<float> row(together.begin() + b * labels,
                                 together.begin() + (b + 1) * labels);
    EXPECT_LE(MaxDifference(Run(alone).logits, row), 1e-5) << "text " << b;
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, ParityTest,
                         testing::Values("bert", "bert_multi_label", "bert_regression",
                                         "bert_one_label_unset", "bert_act_eps",
                                         "bert_legacy_names", "bert_extra_tensors", "bert_sharded",
                                         "bert_bf16_file"),
                         [](const auto& param_info) { return std::string(param_info.param); });

}  // namespace
}  // namespace heed
