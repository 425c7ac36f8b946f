// What a runner gives besides logits, against formulas on the weights themselves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "model/api/error.h"
#include "model/engine.h"
#include "tests/model/golden.h"

namespace heed {
namespace {

using Matrix = std::vector<std::vector<double>>;

LoadedModel Load(const std::string& name) {
  LoadOptions options;
  auto model = LoadModel("tests/golden/" + name, options);
  if (!model.ok()) throw std::runtime_error(std::string(model.status().message()));
  return *std::move(model);
}

TokenIds Text(std::vector<int64_t> ids) {
  TokenIds text;
  text.ids = std::move(ids);
  text.segments.assign(text.ids.size(), 0);
  return text;
}

RaggedBatch Batch(const std::vector<TokenIds>& texts) {
  RaggedBatch batch;
  for (const TokenIds& text : texts) batch.Append(text);
  return batch;
}

const std::vector<int64_t> kIds = {2, 17, 9, 33, 21, 8, 17, 40, 3};

class CaptureTest : public testing::TestWithParam<bool> {
 protected:
  CaptureTest() : model_(Load("bert")), batch_(Batch({Text({2, 5, 3}), Text(kIds)})) {
    for (int64_t layer = 0; layer < layers(); ++layer) {
      wants_.attention.push_back({layer, 1, {}, 0, -1});
    }
  }

  int64_t layers() const { return model_.info().layer_count; }
  int64_t heads() const { return model_.info().head_count; }

  RunOutput Run() {
    auto output = model_.runner->Run(batch_, wants_);
    if (!output.ok()) throw std::runtime_error(std::string(output.status().message()));
    return *std::move(output);
  }

  CaptureRequest& Want(AttentionForm form) {
    CaptureRequest request;
    request.text = 1;
    request.form = form;
    request.eager = GetParam();
    wants_.captures.push_back(request);
    return wants_.captures.back();
  }

  // Mean over `heads` (empty: all), with half of the identity, as the paper adds it.
  Matrix Joined(const AttentionMap& map, const std::vector<int64_t>& heads) const {
    const auto n = static_cast<size_t>(map.key_count);
    Matrix mean(n, std::vector<double>(n, 0));
    std::vector<int64_t> all = heads;
    for (int64_t h = 0; heads.empty() && h < map.head_count; ++h) all.push_back(h);
    for (const int64_t head : all) {
      for (size_t i = 0; i < n; ++i) {
        for (size_t j = 0; j < n; ++j) {
          mean[i][j] += 0.5 * map.weights[(head * n + i) * n + j] / all.size();
        }
      }
    }
    for (size_t i = 0; i < n; ++i) mean[i][i] += 0.5;
    return mean;
  }

  static Matrix Times(const Matrix& a, const Matrix& b) {
    Matrix c(a.size(), std::vector<double>(b[0].size(), 0));
    for (size_t i = 0; i < a.size(); ++i) {
      for (size_t k = 0; k < b.size(); ++k) {
        for (size_t j = 0; j < b[0].size(); ++j) c[i][j] += a[i][k] * b[k][j];
      }
    }
    return c;
  }

  LoadedModel model_;
  RaggedBatch batch_;
  Wants wants_;
};

TEST_P(CaptureTest, ReadsRowsOfSomeHeads) {
  CaptureRequest& request = Want(AttentionForm::kWeights);
  request.layers = {1, 0};
  request.heads = {3, 1};
  request.row_begin = 2;
  request.row_end = 7;
  const RunOutput output = Run();
  ASSERT_EQ(output.captures.size(), 1u);
  const AttentionSource& source = *output.captures[0];
  for (const int64_t layer : {0, 1}) {
    const auto map = source.Read(layer, {1}, 3, 6);
    ASSERT_TRUE(map.ok()) << map.status();
    ASSERT_EQ(map->head_count, 1);
    ASSERT_EQ(map->row_count, 3);
    ASSERT_EQ(map->key_count, 9);
    for (int64_t i = 0; i < 3; ++i) {
      for (int64_t j = 0; j < 9; ++j) {
        EXPECT_NEAR(map->weights[i * 9 + j], output.attention[layer].weights[(9 + 3 + i) * 9 + j],
                    1e-6);
      }
    }
  }
  // What was not asked for is not there.
  EXPECT_EQ(source.Read(0, {0}, 2, 7).status().code(), absl::StatusCode::kInternal);
  EXPECT_EQ(source.Read(2, {1}, 2, 7).status().code(), absl::StatusCode::kInternal);
  EXPECT_EQ(source.Read(0, {1}, 1, 7).status().code(), absl::StatusCode::kInternal);
  EXPECT_EQ(source.Read(0, {1}, 2, 8).status().code(), absl::StatusCode::kInternal);
  EXPECT_EQ(source.Rollout({0}).status().code(), absl::StatusCode::kInternal);
  EXPECT_EQ(source.ReadScores(0, {1}, 2, 7).ok(), !GetParam());
}

TEST_P(CaptureTest, OutlivesTheModelAndTheBatch) {
  Want(AttentionForm::kWeights);
  const RunOutput output = Run();
  model_ = {};
  batch_ = {};
  const auto map = output.captures[0]->Read(1, {}, 0, 9);
  ASSERT_TRUE(map.ok()) << map.status();
  for (size_t i = 0; i < map->weights.size(); ++i) {
    ASSERT_NEAR(map->weights[i], output.attention[1].weights[i], 1e-6);
  }
}

TEST_P(CaptureTest, EntropyAndDistanceFollowTheirFormulas) {
  Want(AttentionForm::kEntropy);
  Want(AttentionForm::kMeanDistance);
  const RunOutput output = Run();
  for (int64_t layer = 0; layer < layers(); ++layer) {
    const auto entropy = output.captures[0]->Read(layer, {}, 0, 9);
    const auto distance = output.captures[1]->Read(layer, {}, 0, 9);
    ASSERT_TRUE(entropy.ok() && distance.ok());
    ASSERT_EQ(entropy->weights.size(), static_cast<size_t>(heads() * 9));
    for (int64_t row = 0; row < heads() * 9; ++row) {
      double expected = 0;
      double tokens = 0;
      for (int64_t j = 0; j < 9; ++j) {
        const double p = output.attention[layer].weights[row * 9 + j];
        if (p > 0) expected -= p * std::log(p);
        tokens += p * std::abs(static_cast<double>(row % 9 - j));
      }
      EXPECT_NEAR(entropy->weights[row], expected, 1e-5);
      EXPECT_NEAR(distance->weights[row], tokens, 1e-5);
    }
  }
}

TEST_P(CaptureTest, RolloutIsTheProductOfTheLayers) {
  Want(AttentionForm::kMeanHeads).heads = {0, 4};
  // The order of the request does not matter to the order of the model.
  wants_.captures.back().layers = {1, 0};
  const RunOutput output = Run();
  const Matrix expected =
      Times(Joined(output.attention[1], {0, 4}), Joined(output.attention[0], {0, 4}));
  const auto rollout = output.captures[0]->Rollout({8, 0, 3});
  ASSERT_TRUE(rollout.ok()) << rollout.status();
  ASSERT_EQ(rollout->row_count, 3);
  const std::vector<int64_t> rows = {8, 0, 3};
  for (int64_t i = 0; i < 3; ++i) {
    for (int64_t j = 0; j < 9; ++j) {
      EXPECT_NEAR(rollout->weights[i * 9 + j], expected[rows[i]][j], 1e-6);
    }
  }
}

// Through one layer the flow is the edge itself; through two it is at most what leaves and what
// arrives, and at least the best path.
TEST_P(CaptureTest, FlowIsBoundedByItsPaths) {
  Want(AttentionForm::kMeanHeads).layers = {1};
  Want(AttentionForm::kMeanHeads);
  const RunOutput output = Run();
  const Matrix last = Joined(output.attention[1], {});
  const Matrix first = Joined(output.attention[0], {});
  const auto one = output.captures[0]->Flow({4});
  const auto two = output.captures[1]->Flow({4});
  ASSERT_TRUE(one.ok() && two.ok());
  for (int64_t j = 0; j < 9; ++j) {
    EXPECT_NEAR(one->weights[j], last[4][j], 1e-6);
    // Every path goes 4 → k → j: the middle tokens' edges are a flow of their own.
    double sum = 0;
    for (int64_t k = 0; k < 9; ++k) sum += std::min(last[4][k], first[k][j]);
    EXPECT_NEAR(two->weights[j], sum, 1e-6);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, CaptureTest, testing::Bool(), [](const auto& param) {
  return param.param ? "Recorded" : "ComputedLater";
});

class ImportanceTest : public CaptureTest {};

TEST_P(ImportanceTest, IsTheSummaryTokensRow) {
  wants_.importance = {{1, Importance::kMeanLastLayerCls},
                       {1, Importance::kRolloutCls},
                       {0, Importance::kRolloutCls}};
  const RunOutput output = Run();
  ASSERT_EQ(output.importance.size(), 3u);
  const Matrix rollout = Times(Joined(output.attention[1], {}), Joined(output.attention[0], {}));
  const Matrix last = Joined(output.attention[1], {});
  for (size_t j = 0; j < 9; ++j) {
    EXPECT_NEAR(output.importance[0][j], 2 * (last[0][j] - (j == 0 ? 0.5 : 0)), 1e-6);
    EXPECT_NEAR(output.importance[1][j], rollout[0][j], 1e-6);
  }
  EXPECT_EQ(output.importance[2].size(), 3u);
}

INSTANTIATE_TEST_SUITE_P(Kinds, ImportanceTest, testing::Values(true));

TEST(WantsTest, AskingChangesNoLogit) {
  const LoadedModel model = Load("roformer");
  const RaggedBatch batch = Batch({Text(kIds), Text({2, 5, 3})});
  const std::vector<float> logits = model.runner->Run(batch, {})->logits;
  Wants wants;
  wants.last_hidden_state = true;
  wants.captures = {{0, {}, {}, AttentionForm::kWeights, false, 0, -1},
                    {1, {}, {}, AttentionForm::kEntropy, true, 0, -1}};
  wants.importance = {{0, Importance::kRolloutCls}};
  const auto output = model.runner->Run(batch, wants);
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(output->logits, logits);
  EXPECT_EQ(output->last_hidden_state.size(), 12 * static_cast<size_t>(model.info().hidden_size));
}

TEST(WantsTest, NamesWhatIsOutOfRange) {
  const LoadedModel model = Load("bert");
  const RaggedBatch batch = Batch({Text(kIds)});
  const auto message = [&](const Wants& wants) {
    const absl::Status status = model.runner->Run(batch, wants).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  Wants wants;
  wants.captures = {{0, {2}, {}, AttentionForm::kWeights, false, 0, -1}};
  EXPECT_THAT(message(wants), testing::HasSubstr("layer 2 is not in [0, 2)"));
  wants.captures = {{0, {0}, {5}, AttentionForm::kWeights, false, 0, -1}};
  EXPECT_THAT(message(wants), testing::HasSubstr("head 5 is not in [0, 5)"));
  wants.captures = {{0, {0}, {}, AttentionForm::kWeights, false, 4, 10}};
  EXPECT_THAT(message(wants), testing::HasSubstr("rows 4 to 10"));
  wants.captures.clear();
  wants.importance = {{1, Importance::kRolloutCls}};
  EXPECT_THAT(message(wants), testing::HasSubstr("text 1 is not in [0, 1)"));
}

// Without positions a text is a bag of tokens: the order of the inner ones does not matter,
// whatever the encoding.
TEST(PositionsDisabledTest, OrderDoesNotMatter) {
  std::vector<int64_t> shuffled = kIds;
  std::swap(shuffled[1], shuffled[5]);
  std::swap(shuffled[2], shuffled[7]);
  for (const std::string name :
       {"bert", "mpnet", "deberta", "deberta_v2", "roformer", "nomic_bert", "eurobert",
        "derived_bert_relative_key", "derived_bert_relative_key_query", "jina_embeddings_v3"}) {
    SCOPED_TRACE(name);
    const LoadedModel model = Load(name);
    TokenIds plain = Text(kIds);
    TokenIds other = Text(shuffled);
    const auto with = model.runner->Run(Batch({plain, other}), {});
    plain.positions_disabled = other.positions_disabled = true;
    const auto without = model.runner->Run(Batch({plain, other, Text(kIds)}), {});
    ASSERT_TRUE(with.ok() && without.ok()) << without.status();
    const size_t labels = model.info().labels.size();
    double changed = 0;
    for (size_t c = 0; c < labels; ++c) {
      EXPECT_NEAR(without->logits[c], without->logits[labels + c], 2e-6);
      changed = std::max<double>(changed, std::abs(with->logits[c] - without->logits[c]));
      // A neighbour with positions keeps them.
      EXPECT_NEAR(without->logits[2 * labels + c], with->logits[c], 1e-6);
    }
    EXPECT_GT(changed, 1e-5) << "positions had no say to begin with";
  }
}

TEST(SimilarityTest, OfTheModelsOwnEncoding) {
  const auto bert = Load("bert").runner->SimilarityOfPositions(5, 0, "");
  ASSERT_TRUE(bert.ok()) << bert.status();
  EXPECT_EQ(bert->encoding, "learned");
  EXPECT_EQ(bert->matrix_count, 1);
  ASSERT_EQ(bert->values.size(), 25u);
  EXPECT_DOUBLE_EQ(bert->values[1], bert->values[5]);
  const LoadedModel mpnet = Load("mpnet");
  const auto kernel = mpnet.runner->SimilarityOfPositions(6, 1, "mpnet_bias");
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  EXPECT_EQ(kernel->matrix_count, mpnet.info().head_count);
  EXPECT_EQ(mpnet.runner->SimilarityOfPositions(6, 0, "")->encoding, "learned");
}

TEST(SimilarityTest, NamesWhatItCannotGive) {
  const LoadedModel model = Load("bert");
  const auto message = [&](int64_t count, int64_t layer, const std::string& encoding) {
    const absl::Status status =
        model.runner->SimilarityOfPositions(count, layer, encoding).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    return std::string(status.message());
  };
  EXPECT_THAT(message(5, 2, ""), testing::HasSubstr("layer 2 is not in [0, 2)"));
  EXPECT_THAT(message(0, 0, ""), testing::HasSubstr("position_count"));
  EXPECT_THAT(message(1000, 0, ""), testing::HasSubstr("999"));
  EXPECT_THAT(message(5, 0, "rope"), testing::HasSubstr("there is learned"));
}

}  // namespace
}  // namespace heed
