#include "model/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "model/api/error.h"
#include "model/checkpoint/json.h"
#include "tests/model/golden.h"

namespace heed {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// A copy of a reference model that a test may spoil.
class EngineTest : public testing::Test {
 protected:
  EngineTest()
      : folder_(testing::TempDir() + "engine_" +
                testing::UnitTest::GetInstance()->current_test_info()->name()) {
    fs::remove_all(folder_);
    fs::copy("tests/golden/bert", folder_);
  }
  ~EngineTest() override { fs::remove_all(folder_); }

  void SetConfig(const std::string& field, const nlohmann::json& value) {
    nlohmann::json config = *ReadJsonFile(folder_ + "/config.json");
    config[field] = value;
    std::ofstream(folder_ + "/config.json") << config;
  }

  const std::string folder_;
};

TEST_F(EngineTest, DescribesTheModel) {
  const auto model = LoadModel(folder_);
  ASSERT_TRUE(model.ok()) << model.status();
  const ModelInfo& info = model->info();
  EXPECT_EQ(info.architecture, "bert");
  EXPECT_EQ(info.positional_encoding, "learned");
  EXPECT_EQ(info.layer_count, 2);
  EXPECT_EQ(info.head_count, 5);
  EXPECT_EQ(info.max_tokens, 44);
  EXPECT_THAT(info.labels, testing::ElementsAre("negative", "neutral", "positive"));
  EXPECT_TRUE(info.accepts_pairs);
  EXPECT_EQ(info.version.size(), 16);
  EXPECT_EQ(info.weights_bytes, info.parameter_count * 4);
}

TEST_F(EngineTest, TheSmallerOfPositionsAndModelMaxLengthIsTheLimit) {
  std::ofstream(folder_ + "/tokenizer_config.json") << R"({"model_max_length": 12})";
  const auto model = LoadModel(folder_);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->info().max_tokens, 12);
  std::ofstream(folder_ + "/tokenizer_config.json") << R"({"model_max_length": 512})";
  EXPECT_EQ(LoadModel(folder_)->info().max_tokens, 44);
}

TEST_F(EngineTest, VersionFollowsTheContent) {
  const std::string before = LoadModel(folder_)->info().version;
  EXPECT_EQ(LoadModel("tests/golden/bert")->info().version, before);
  SetConfig("layer_norm_eps", 1e-6);
  EXPECT_NE(LoadModel(folder_)->info().version, before);
}

TEST_F(EngineTest, RefusesWhatWouldChangeTheNumbers) {
  SetConfig("position_embedding_type", "rotary");
  const absl::Status status = LoadModel(folder_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(status.message(), HasSubstr("\"position_embedding_type\" (\"rotary\")"));
}

// The configuration asks for a table of distances that the weights do not have.
TEST_F(EngineTest, RelativePositionsNeedTheirTable) {
  SetConfig("position_embedding_type", "relative_key");
  const absl::Status status = LoadModel(folder_).status();
  EXPECT_EQ(GetErrorDetail(status).reason, "MISSING_TENSOR");
  EXPECT_THAT(status.message(), HasSubstr("distance_embedding.weight"));
  const auto model = LoadModel("tests/golden/derived_bert_relative_key");
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->info().positional_encoding, "shaw");
}

// As ErrorDetail and in words: both fields.
TEST_F(EngineTest, RefusesASecondPositionalEncoding) {
  SetConfig("position_embedding_type", "absolute");
  SetConfig("alibi", true);
  const absl::Status status = LoadModel(folder_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(GetErrorDetail(status).metadata.at("field"), "alibi");
  EXPECT_THAT(status.message(), HasSubstr("\"alibi\""));
  EXPECT_THAT(status.message(), HasSubstr("\"position_embedding_type\""));
}

TEST_F(EngineTest, RefusesATableThatDoesNotFitItsConfig) {
  SetConfig("max_position_embeddings", 48);
  const absl::Status status = LoadModel(folder_).status();
  EXPECT_THAT(status.message(), HasSubstr("position_embeddings.weight"));
  EXPECT_THAT(status.message(), HasSubstr("[48, 40]"));
}

TEST_F(EngineTest, SayWhichTensorsWereIgnored) {
  const auto model = LoadModel("tests/golden/bert_extra_tensors");
  ASSERT_TRUE(model.ok()) << model.status();
  ASSERT_EQ(model->notes.size(), 1);
  EXPECT_THAT(model->notes[0], HasSubstr("cls.predictions.bias"));
}

TEST_F(EngineTest, ModelsWithoutAHeadAreRefusedUnlessNoneIsWanted) {
  const absl::Status status = LoadModel("tests/golden/bert_model").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented) << status;
  EXPECT_THAT(status.message(), HasSubstr("\"architectures\""));
  LoadOptions options;
  options.headless = true;
  const auto model = LoadModel("tests/golden/bert_model", options);
  ASSERT_TRUE(model.ok()) << model.status();
  RaggedBatch batch;
  batch.Append({{2, 7, 3}, {0, 0, 0}, {}, {}});
  Wants wants;
  wants.hidden_states = true;
  const auto output = model->runner->Run(batch, wants);
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_TRUE(output->logits.empty());
  EXPECT_TRUE(output->token_logits.empty());
  EXPECT_EQ(output->hidden_states.size(), 3);
}

TEST_F(EngineTest, TokenClassifiersLabelTokens) {
  const auto model = LoadModel("tests/golden/bert_token_cls");
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->info().task, "token_classification");
  RaggedBatch batch;
  batch.Append({{2, 7, 3}, {0, 0, 0}, {}, {}});
  batch.Append({{2, 3}, {0, 0}, {}, {}});
  const auto output = model->runner->Run(batch, {});
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_TRUE(output->logits.empty());
  EXPECT_TRUE(output->scores.empty());
  EXPECT_EQ(output->token_logits.size(), 5 * model->info().labels.size());
  EXPECT_EQ(output->token_scores.size(), output->token_logits.size());
}

TEST_F(EngineTest, MissingFilesAreNamed) {
  EXPECT_THAT(LoadModel("no/such/folder").status().message(), HasSubstr("no/such/folder"));
  fs::remove(folder_ + "/tokenizer.json");
  EXPECT_THAT(LoadModel(folder_).status().message(), HasSubstr("tokenizer.json"));
  fs::remove(folder_ + "/model.safetensors");
  std::ofstream(folder_ + "/pytorch_model.bin") << "x";
  EXPECT_THAT(LoadModel(folder_).status().message(), HasSubstr("pickle"));
}

TEST_F(EngineTest, RefusesOptionsItCannotHonour) {
  LoadOptions options;
  options.device = "cuda";
  EXPECT_EQ(LoadModel(folder_, options).status().code(), absl::StatusCode::kUnimplemented);
  options = {};
  options.precision = "fp8";
  EXPECT_EQ(LoadModel(folder_, options).status().code(), absl::StatusCode::kUnimplemented);
}

// bfloat16 halves the matrices of the encoder's linear layers and nothing else.
TEST_F(EngineTest, PrecisionDecidesTheBytesOfMatrices) {
  LoadOptions options;
  const auto weights_bytes = [&](const char* precision, const char* reported) {
    options.precision = precision;
    const auto model = LoadModel(folder_, options);
    EXPECT_TRUE(model.ok()) << model.status();
    EXPECT_EQ(model->info().precision, reported);
    EXPECT_EQ(model->info().parameter_count, LoadModel(folder_)->info().parameter_count);
    return model->info().weights_bytes;
  };
  const int64_t full = weights_bytes("fp32", "fp32");
  EXPECT_EQ(weights_bytes("auto", "fp32"), full);
  const ModelInfo info = LoadModel(folder_)->info();
  const nlohmann::json config = *ReadJsonFile(folder_ + "/config.json");
  const int64_t inner = config["intermediate_size"];
  const int64_t matrices =
      info.layer_count * (4 * info.hidden_size * info.hidden_size + 2 * info.hidden_size * inner);
  EXPECT_EQ(full - weights_bytes("bf16", "bf16"), 2 * matrices);
}

class RunTest : public testing::Test {
 protected:
  absl::Status Run(const RaggedBatch& batch) {
    return LoadModel("tests/golden/bert")->runner->Run(batch, {}).status();
  }
};

TEST_F(RunTest, ChecksTheBatch) {
  RaggedBatch good;
  good.Append({{2, 7, 3}, {0, 0, 0}, {}, {}});
  EXPECT_TRUE(Run(good).ok());
  EXPECT_EQ(Run({}).code(), absl::StatusCode::kInvalidArgument);  // no text

  RaggedBatch bad = good;
  bad.ids[1] = 312;
  EXPECT_THAT(Run(bad).message(), HasSubstr("token id 312 is not in [0, 312)"));
  bad = good;
  bad.ids[1] = -1;
  EXPECT_THAT(Run(bad).message(), HasSubstr("token id -1"));
  bad = good;
  bad.segments[0] = 2;
  EXPECT_THAT(Run(bad).message(), HasSubstr("segment 2"));
  bad = good;
  bad.positions[2] = 44;
  EXPECT_THAT(Run(bad).message(), HasSubstr("position 44 is not in [0, 44)"));
  bad = good;
  bad.cu_seqlens = {0, 2, 2, 3};
  EXPECT_THAT(Run(bad).message(), HasSubstr("text 1 has no token"));
  bad = good;
  bad.segments.pop_back();
  EXPECT_THAT(Run(bad).message(), HasSubstr("differ in length"));
}

TEST_F(RunTest, ManyThreadsGetTheSameBits) {
  const auto model = LoadModel("tests/golden/bert");
  ASSERT_TRUE(model.ok());
  RaggedBatch batch;
  for (const GoldenCase& golden : ReadGoldenCases("bert")) batch.Append(golden.Row(0));
  const std::vector<float> expected = model->runner->Run(batch, {})->logits;
  std::vector<std::thread> threads;
  std::atomic<int> different = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) different += model->runner->Run(batch, {})->logits != expected;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(different, 0);
}

}  // namespace
}  // namespace heed
