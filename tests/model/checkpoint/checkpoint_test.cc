#include "model/checkpoint/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "model/api/error.h"
#include "model/checkpoint/json.h"
#include "model/checkpoint/safetensors_writer.h"

namespace heed {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::Contains;
using testing::HasSubstr;

constexpr float kZeros[4096] = {};

TensorView Zeros(std::vector<int64_t> shape) {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  return {DType::kF32, std::move(shape),
          absl::MakeConstSpan(reinterpret_cast<const std::byte*>(kZeros), count * sizeof(float))};
}

// A one-layer BERT of width 4 with two labels.
ModelConfig SmallConfig() {
  ModelConfig config;
  config.architecture = "bert";
  config.hidden_size = 4;
  config.layer_count = 1;
  config.head_count = 1;
  config.intermediate_size = 8;
  config.vocab_size = 10;
  config.segment_count = 2;
  config.position_count = 6;
  config.encodings = {{"learned", {}, {}}};
  config.head.pooling = Pooling::kFirst;
  config.head.dense = "pooler.dense";
  config.labels = {"a", "b"};
  return config;
}

std::map<std::string, TensorView> SmallTensors() {
  std::map<std::string, TensorView> tensors = {
      {"bert.embeddings.word_embeddings.weight", Zeros({10, 4})},
      {"bert.embeddings.token_type_embeddings.weight", Zeros({2, 4})},
      {"bert.embeddings.position_embeddings.weight", Zeros({6, 4})},
      {"bert.encoder.layer.0.intermediate.dense.weight", Zeros({8, 4})},
      {"bert.encoder.layer.0.intermediate.dense.bias", Zeros({8})},
      {"bert.encoder.layer.0.output.dense.weight", Zeros({4, 8})},
      {"bert.encoder.layer.0.output.dense.bias", Zeros({4})},
      {"bert.pooler.dense.weight", Zeros({4, 4})},
      {"bert.pooler.dense.bias", Zeros({4})},
      {"classifier.weight", Zeros({2, 4})},
      {"classifier.bias", Zeros({2})},
  };
  for (const char* const norm :
       {"bert.embeddings.LayerNorm", "bert.encoder.layer.0.output.LayerNorm",
        "bert.encoder.layer.0.attention.output.LayerNorm"}) {
    tensors[std::string(norm) + ".weight"] = Zeros({4});
    tensors[std::string(norm) + ".bias"] = Zeros({4});
  }
  for (const char* const part : {"self.query", "self.key", "self.value", "output.dense"}) {
    const std::string name = std::string("bert.encoder.layer.0.attention.") + part;
    tensors[name + ".weight"] = Zeros({4, 4});
    tensors[name + ".bias"] = Zeros({4});
  }
  return tensors;
}

class CheckpointTest : public testing::Test {
 protected:
  CheckpointTest() {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~CheckpointTest() override { fs::remove_all(folder_); }

  void Write(const std::string& file, const std::map<std::string, TensorView>& tensors) {
    ASSERT_TRUE(WriteSafetensors(folder_ + "/" + file, tensors).ok());
  }
  void WriteIndex(const json& weight_map) {
    std::ofstream(folder_ + "/model.safetensors.index.json") << json{{"weight_map", weight_map}};
  }

  absl::StatusOr<WeightMap> Resolve(const std::map<std::string, TensorView>& tensors,
                                    const ModelConfig& config = SmallConfig()) {
    Write("model.safetensors", tensors);
    const auto checkpoint = Checkpoint::Open(folder_);
    if (!checkpoint.ok()) return checkpoint.status();
    return ResolveWeights(config, *checkpoint);
  }

  const std::string folder_ = testing::TempDir() + "checkpoint_" +
                              testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(CheckpointTest, ResolvesEveryRole) {
  const auto weights = Resolve(SmallTensors());
  ASSERT_TRUE(weights.ok()) << weights.status();
  EXPECT_EQ(weights->tensors.size(), SmallTensors().size());
  EXPECT_EQ(weights->tensors.at("layers.0.output.weight").view.shape, (std::vector<int64_t>{4, 8}));
  EXPECT_TRUE(weights->ignored.empty());
}

TEST_F(CheckpointTest, ThePrefixIsOptional) {
  std::map<std::string, TensorView> bare;
  for (const auto& [name, tensor] : SmallTensors()) {
    bare[name.substr(name.find("bert.") == 0 ? 5 : 0)] = tensor;
  }
  EXPECT_TRUE(Resolve(bare).ok());
}

TEST_F(CheckpointTest, LegacyNormNames) {
  auto tensors = SmallTensors();
  tensors["bert.embeddings.LayerNorm.gamma"] = tensors["bert.embeddings.LayerNorm.weight"];
  tensors.erase("bert.embeddings.LayerNorm.weight");
  EXPECT_TRUE(Resolve(tensors).ok());
}

TEST_F(CheckpointTest, MissingTensorIsNamed) {
  auto tensors = SmallTensors();
  tensors.erase("bert.encoder.layer.0.output.dense.bias");
  const absl::Status status = Resolve(tensors).status();
  EXPECT_EQ(GetErrorDetail(status).reason, "MISSING_TENSOR");
  EXPECT_THAT(status.message(), HasSubstr("\"bert.encoder.layer.0.output.dense.bias\""));
}

TEST_F(CheckpointTest, WrongShapeShowsBoth) {
  auto tensors = SmallTensors();
  tensors["classifier.weight"] = Zeros({3, 4});
  const absl::Status status = Resolve(tensors).status();
  EXPECT_EQ(GetErrorDetail(status).reason, "BAD_TENSOR_SHAPE");
  EXPECT_THAT(status.message(), HasSubstr("[3, 4]"));
  EXPECT_THAT(status.message(), HasSubstr("[2, 4]"));
}

TEST_F(CheckpointTest, IntegerWeightsAreRefused) {
  auto tensors = SmallTensors();
  tensors["classifier.bias"].dtype = DType::kI32;
  EXPECT_EQ(GetErrorDetail(Resolve(tensors).status()).reason, "BAD_TENSOR_DTYPE");
}

TEST_F(CheckpointTest, TensorsElsewhereAreIgnoredAndListed) {
  auto tensors = SmallTensors();
  tensors["cls.predictions.bias"] = Zeros({10});
  tensors["bert.embeddings.position_ids"] = {
      DType::kI64, {1, 6}, absl::MakeConstSpan(reinterpret_cast<const std::byte*>(kZeros), 48)};
  const auto weights = Resolve(tensors);
  ASSERT_TRUE(weights.ok()) << weights.status();
  EXPECT_THAT(weights->ignored, Contains("cls.predictions.bias"));
}

TEST_F(CheckpointTest, TensorsThatWouldComputeAreRefused) {
  for (const char* const name :
       {"bert.encoder.layer.0.attention.self.distance_embedding.weight",
        "bert.encoder.layer.0.attention.self.query.lora_A.weight",
        "bert.encoder.layer.1.output.dense.bias", "classifier.out_proj.weight"}) {
    auto tensors = SmallTensors();
    tensors[name] = Zeros({4});
    const absl::Status status = Resolve(tensors).status();
    EXPECT_EQ(GetErrorDetail(status).reason, "UNEXPECTED_TENSOR") << name;
    EXPECT_THAT(std::string(status.message()), HasSubstr(name));
  }
}

// A reference model's configuration and tensors.
struct Golden {
  explicit Golden(const std::string& name)
      : config(
            *ReadModelConfig("tests/golden/" + name + "/config.json", ConfigPurpose::kClassifier)),
        checkpoint(*Checkpoint::Open("tests/golden/" + name)) {}
  ModelConfig config;
  Checkpoint checkpoint;
};

// What is to be made of a tensor of the file travels with it.
TEST_F(CheckpointTest, FormsAndPartsAreKept) {
  const auto expect = [](const char* name, const char* role, WeightForm form, int64_t parts) {
    const Golden golden(name);
    const auto weights = ResolveWeights(golden.config, golden.checkpoint);
    ASSERT_TRUE(weights.ok()) << weights.status();
    EXPECT_EQ(weights->tensors.at(role).form, form) << name;
    EXPECT_EQ(weights->tensors.at(role).parts, parts) << name;
  };
  expect("bert", "layers.0.attention.query.weight", WeightForm::kPlain, 1);
  expect("xlnet", "layers.0.attention.query.weight", WeightForm::kTransposed, 1);
  expect("xlnet", "layers.0.attention.output.weight", WeightForm::kFlattened, 1);
  expect("deberta", "layers.0.attention.query_key_value.weight", WeightForm::kQkvPerHead, 4);
  expect("squeezebert", "layers.0.attention.query.weight", WeightForm::kGrouped, 2);
  expect("squeezebert", "layers.0.output.weight", WeightForm::kGrouped, 4);
}

// RoFormer's sinusoids are a formula: older files leave their table out.
TEST_F(CheckpointTest, OptionalTensorsMayBeMissing) {
  const Golden golden("roformer");
  const std::string table = "roformer.encoder.embed_positions.weight";
  std::map<std::string, TensorView> tensors(golden.checkpoint.tensors().begin(),
                                            golden.checkpoint.tensors().end());
  ASSERT_TRUE(tensors.contains(table));
  const auto with = Resolve(tensors, golden.config);
  ASSERT_TRUE(with.ok()) << with.status();
  tensors.erase(table);
  const auto without = Resolve(tensors, golden.config);
  ASSERT_TRUE(without.ok()) << without.status();
  EXPECT_EQ(without->tensors.size() + 1, with->tensors.size());
  tensors[table] = Zeros({3, 3});  // there, it must be what it says it is
  EXPECT_EQ(GetErrorDetail(Resolve(tensors, golden.config).status()).reason, "BAD_TENSOR_SHAPE");
}

TEST_F(CheckpointTest, PoolerIsIgnoredWhereItTakesNoPart) {
  ModelConfig config = SmallConfig();
  config.head.pooling = Pooling::kMean;
  config.head.dense = "";
  const auto weights = Resolve(SmallTensors(), config);
  ASSERT_TRUE(weights.ok()) << weights.status();
  EXPECT_THAT(weights->ignored, Contains("bert.pooler.dense.weight"));
}

TEST_F(CheckpointTest, HeadFileAddsTensors) {
  Write("model.safetensors", {{"a", Zeros({1})}});
  Write("head.safetensors", {{"b", Zeros({1})}});
  EXPECT_EQ(Checkpoint::Open(folder_)->Find("b"), nullptr);
  EXPECT_NE(Checkpoint::Open(folder_, "head.safetensors")->Find("b"), nullptr);
  EXPECT_EQ(GetErrorDetail(Checkpoint::Open(folder_, "../head.safetensors").status()).reason,
            "BAD_CONFIG_FIELD");
  Write("head.safetensors", {{"a", Zeros({1})}});
  EXPECT_EQ(GetErrorDetail(Checkpoint::Open(folder_, "head.safetensors").status()).reason,
            "DUPLICATE_TENSOR");
}

TEST_F(CheckpointTest, Shards) {
  Write("one.safetensors", {{"a", Zeros({1})}});
  Write("two.safetensors", {{"b", Zeros({2})}});
  WriteIndex({{"a", "one.safetensors"}, {"b", "two.safetensors"}});
  const auto checkpoint = Checkpoint::Open(folder_);
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  EXPECT_EQ(checkpoint->tensors().size(), 2);
}

TEST_F(CheckpointTest, ShardsMustAgreeWithTheIndex) {
  Write("one.safetensors", {{"a", Zeros({1})}});
  Write("two.safetensors", {{"b", Zeros({2})}});
  const std::vector<std::pair<json, std::string>> indices = {
      {{{"a", "one.safetensors"}}, ""},  // two.safetensors is then no part of the model
      {{{"a", "one.safetensors"}, {"c", "two.safetensors"}}, "\"b\""},
      {{{"a", "one.safetensors"}, {"b", "two.safetensors"}, {"c", "two.safetensors"}}, "\"c\""},
      {{{"a", "two.safetensors"}, {"b", "two.safetensors"}}, "\"a\""},
      {{{"a", "../one.safetensors"}}, "plain file name"},
      {{{"a", "/etc/passwd"}}, "plain file name"},
      {{{"a", ""}}, "plain file name"},
      {{{"a", 1}}, "plain file name"},
      {{{"a", "missing.safetensors"}}, "missing.safetensors"},
      {json::array(), "weight_map"},
  };
  for (const auto& [weight_map, message] : indices) {
    WriteIndex(weight_map);
    const absl::Status status = Checkpoint::Open(folder_).status();
    EXPECT_EQ(status.ok(), message.empty()) << weight_map << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(message));
  }
}

TEST_F(CheckpointTest, VersionChangesWithEveryFile) {
  Write("model.safetensors", {{"a", Zeros({1})}});
  std::ofstream(folder_ + "/config.json") << "{}";
  std::ofstream(folder_ + "/tokenizer.json") << "{}";
  const auto version = [&] { return Checkpoint::Open(folder_)->Version(); };
  const std::string first = version();
  EXPECT_EQ(version(), first);
  EXPECT_THAT(first, testing::MatchesRegex("[0-9a-f]{16}"));
  std::ofstream(folder_ + "/tokenizer.json") << "[]";
  const std::string second = version();
  EXPECT_NE(second, first);
  const float one = 1;
  Write("model.safetensors",
        {{"a",
          {DType::kF32,
           {1},
           absl::MakeConstSpan(reinterpret_cast<const std::byte*>(&one), sizeof(one))}}});
  EXPECT_NE(version(), second);
}

TEST_F(CheckpointTest, NoWeights) {
  EXPECT_EQ(Checkpoint::Open(folder_).status().code(), absl::StatusCode::kNotFound);
  std::ofstream(folder_ + "/pytorch_model.bin") << "x";
  EXPECT_THAT(Checkpoint::Open(folder_).status().message(), HasSubstr("pickle"));
}

}  // namespace
}  // namespace heed
