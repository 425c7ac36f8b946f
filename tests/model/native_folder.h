// Model folders in Heed's own format, written by the test that reads them.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "model/checkpoint/safetensors_writer.h"
#include "model/engine.h"

namespace heed {

// A folder of the current test's own, gone with the object. The tokenizer is that of the reference
// BERT, which has 312 words.
class NativeFolder {
 public:
  struct Tensor {
    std::vector<int64_t> shape;
    std::vector<float> values;
  };

  explicit NativeFolder(nlohmann::json fields)
      : config(std::move(fields)),
        path_(::testing::TempDir() + "native_" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
    std::filesystem::copy("tests/golden/bert/tokenizer.json", path_ + "/tokenizer.json");
  }
  ~NativeFolder() { std::filesystem::remove_all(path_); }
  NativeFolder(const NativeFolder&) = delete;
  NativeFolder& operator=(const NativeFolder&) = delete;

  // Values around `center`, the same on every run.
  void AddRandom(const std::string& name, const std::vector<int64_t>& shape, float spread,
                 float center = 0) {
    size_t count = 1;
    for (const int64_t size : shape) count *= static_cast<size_t>(size);
    std::normal_distribution<float> normal(center, spread);
    Tensor& tensor = tensors[name] = {shape, {}};
    for (size_t i = 0; i < count; ++i) tensor.values.push_back(normal(random_));
  }

  // Every tensor that a "heed" configuration asks for besides its positions.
  void AddEncoder() {
    const int64_t width = config["hidden_size"];
    const int64_t inner = config["intermediate_size"];
    const std::string activation = config.value("hidden_act", "gelu");
    const bool gated = activation == "geglu" || activation == "swiglu" || activation == "reglu";
    AddRandom("embeddings.word.weight", {config["vocab_size"], width}, 1);
    for (int64_t i = 0; i < config["num_hidden_layers"]; ++i) {
      const std::string layer = "layers." + std::to_string(i) + ".";
      AddNorm(layer + "attention.norm", width);
      AddLinear(layer + "attention.query_key_value", 3 * width, width);
      AddLinear(layer + "attention.output", width, width);
      AddNorm(layer + "norm", width);
      AddLinear(layer + "intermediate", inner * (gated ? 2 : 1), width);
      AddLinear(layer + "output", width, inner);
    }
    AddNorm("final_norm", width);
    AddLinear("classifier", config["num_labels"], width);
  }
  void AddNorm(const std::string& name, int64_t width) {
    AddRandom(name + ".weight", {width}, 0.2F, 1);
    AddRandom(name + ".bias", {width}, 0.3F);
  }
  void AddLinear(const std::string& name, int64_t out, int64_t in) {
    AddRandom(name + ".weight", {out, in}, 0.3F);
    AddRandom(name + ".bias", {out}, 0.3F);
  }

  const std::string& path() const { return path_; }

  // Writes the folder.
  absl::Status Write() const {
    std::map<std::string, TensorView> views;
    for (const auto& [name, tensor] : tensors) {
      views[name] = {DType::kF32, tensor.shape,
                     absl::MakeConstSpan(reinterpret_cast<const std::byte*>(tensor.values.data()),
                                         tensor.values.size() * sizeof(float))};
    }
    std::ofstream(path_ + "/config.json") << config;
    return WriteSafetensors(path_ + "/model.safetensors", views);
  }

  // Writes the folder and loads it.
  absl::StatusOr<LoadedModel> Load(const LoadOptions& options = {}) const {
    const absl::Status written = Write();
    if (!written.ok()) return written;
    return LoadModel(path_, options);
  }

  nlohmann::json config;
  std::map<std::string, Tensor> tensors;

 private:
  std::mt19937 random_{1};
  const std::string path_;
};

// A text of those ids.
inline TokenIds TextOf(std::vector<int64_t> ids) {
  TokenIds text;
  text.segments.assign(ids.size(), 0);
  text.ids = std::move(ids);
  return text;
}

// The outcome for those texts; throws where the batch is refused.
inline RunOutput RunTexts(const LoadedModel& model, const std::vector<TokenIds>& texts,
                          const Wants& wants = {}) {
  RaggedBatch batch;
  for (const TokenIds& text : texts) batch.Append(text);
  auto output = model.runner->Run(batch, wants);
  if (!output.ok()) throw std::runtime_error(std::string(output.status().message()));
  return *std::move(output);
}

}  // namespace heed
