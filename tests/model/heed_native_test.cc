// Heed's own encoder, from a folder on disk to logits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "model/api/error.h"
#include "model/attention/pattern.h"
#include "tests/model/attention/naive.h"
#include "tests/model/naive_encoder.h"
#include "tests/model/native_folder.h"

namespace heed {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr double kTolerance = 1e-5;

json Config(const std::string& encoding) {
  return {{"model_type", "heed"},           {"hidden_size", kWidth},
          {"num_hidden_layers", kLayers},   {"num_attention_heads", kHeads},
          {"intermediate_size", kInner},    {"vocab_size", 312},
          {"max_position_embeddings", 64},  {"num_labels", kLabels},
          {"positional_encoding", encoding}};
}

// Hidden states, and every map of text 0.
Wants Everything() {
  Wants wants;
  wants.hidden_states = true;
  for (int64_t layer = 0; layer < kLayers; ++layer) {
    wants.attention.push_back({layer, 0, {}, 0, -1});
  }
  return wants;
}

double LargestDifference(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  double largest = 0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const double difference = std::abs(static_cast<double>(a[i]) - b[i]);
    // Written so that a NaN does not pass for a small number.
    if (!(difference <= largest)) largest = difference;
  }
  return largest;
}

TEST(HeedNativeTest, MatchesTheFormulasInFloat64) {
  const std::vector<std::vector<int64_t>> texts = {{2, 30, 31, 32, 30, 3}, {7}, {2, 200, 3}};
  for (const char* const encoding : {"none", "sinusoidal"}) {
    for (const char* const activation : {"gelu", "geglu"}) {
      for (const char* const pooling : {"mean", "cls"}) {
        SCOPED_TRACE(std::string(encoding) + ", " + activation + ", " + pooling);
        NativeFolder folder(Config(encoding));
        folder.config["hidden_act"] = activation;
        folder.config["pooling"] = pooling;
        folder.AddEncoder();
        const auto model = folder.Load();
        ASSERT_TRUE(model.ok()) << model.status();
        const RunOutput output =
            RunTexts(*model, {TextOf(texts[0]), TextOf(texts[1]), TextOf(texts[2])}, Everything());
        NaiveModel naive(folder);
        size_t first_token = 0;
        for (size_t b = 0; b < texts.size(); ++b) {
          const Vector logits = naive.Logits(texts[b]);
          for (int64_t c = 0; c < kLabels; ++c) {
            EXPECT_NEAR(output.logits[b * kLabels + c], logits[c], kTolerance);
          }
          for (size_t i = 0; i <= kLayers; ++i) {
            const Matrix states = naive.hidden_states(i);
            for (size_t t = 0; t < states.size(); ++t) {
              for (int64_t d = 0; d < kWidth; ++d) {
                ASSERT_NEAR(output.hidden_states[i][(first_token + t) * kWidth + d], states[t][d],
                            kTolerance);
              }
            }
          }
          first_token += texts[b].size();
        }
      }
    }
  }
}

// How far f(πX) is from πf(X): logits, hidden states, and maps with both axes permuted.
struct Distances {
  double logits = 0;
  double states = 0;
  double maps = 0;
};

Distances UnderPermutation(const std::string& encoding) {
  const std::vector<int64_t> ids = {2, 30, 31, 32, 33, 34, 3};
  const std::vector<size_t> order = {4, 0, 6, 2, 1, 5, 3};
  std::vector<int64_t> moved;
  for (const size_t place : order) moved.push_back(ids[place]);
  NativeFolder folder(Config(encoding));
  folder.AddEncoder();
  const auto model = folder.Load();
  EXPECT_TRUE(model.ok()) << model.status();
  const RunOutput plain = RunTexts(*model, {TextOf(ids)}, Everything());
  const RunOutput permuted = RunTexts(*model, {TextOf(moved)}, Everything());
  Distances distances;
  distances.logits = LargestDifference(plain.logits, permuted.logits);
  const auto keep_larger = [](double& largest, float a, float b) {
    const double difference = std::abs(static_cast<double>(a) - b);
    if (!(difference <= largest)) largest = difference;
  };
  const size_t n = ids.size();
  for (size_t layer = 0; layer <= kLayers; ++layer) {
    for (size_t i = 0; i < n * kWidth; ++i) {
      keep_larger(distances.states, permuted.hidden_states[layer][i],
                  plain.hidden_states[layer][order[i / kWidth] * kWidth + i % kWidth]);
    }
  }
  for (size_t layer = 0; layer < kLayers; ++layer) {
    for (size_t i = 0; i < kHeads * n * n; ++i) {
      const size_t head = i / (n * n);
      const size_t from = (head * n + order[i / n % n]) * n + order[i % n];
      keep_larger(distances.maps, permuted.attention[layer].weights[i],
                  plain.attention[layer].weights[from]);
    }
  }
  return distances;
}

TEST(HeedNativeTest, WithoutPositionsTheEncoderIsPermutationEquivariant) {
  const Distances none = UnderPermutation("none");
  EXPECT_LT(none.logits, kTolerance);
  EXPECT_LT(none.states, kTolerance);
  EXPECT_LT(none.maps, kTolerance);
  const Distances sinusoidal = UnderPermutation("sinusoidal");
  EXPECT_GT(sinusoidal.logits, 1e-2);
  EXPECT_GT(sinusoidal.states, 1e-2);
  EXPECT_GT(sinusoidal.maps, 1e-2);
}

// Options with which each pattern hides something from the texts below.
const std::map<std::string, json>& PatternSettings() {
  static const auto* const settings = new std::map<std::string, json>{
      {"dense", json::object()},
      {"sliding_window", {{"window", 3}}},
      {"block_sparse", {{"block_size", 4}, {"global_stride", 5}}},
      {"longformer", {{"window", 2}, {"global_tokens", "0"}}},
      {"big_bird", {{"block_size", 4}, {"random_blocks", 1}}},
  };
  return *settings;
}

// A model of that encoding, every layer with the weights of the first.
void AddEncoding(const NaiveEncoding& encoding, NativeFolder& folder) {
  for (const auto& [key, value] : encoding.options) {
    folder.config["positional_options"][key] = value;
  }
  const auto add = [&](const std::string& name, const at::Tensor& weight) {
    const at::Tensor plain = weight.contiguous();
    folder.tensors[name] = {
        plain.sizes().vec(),
        {plain.const_data_ptr<float>(), plain.const_data_ptr<float>() + plain.numel()}};
  };
  for (const auto& [name, weight] : encoding.weights) {
    add(name, weight);
    if (name.rfind("layers.0.", 0) == 0) add("layers.1." + name.substr(9), weight);
  }
}

TEST(HeedNativeTest, EveryEncodingWithEveryPattern) {
  at::manual_seed(7);
  const std::vector<NaiveEncoding> encodings = NaiveEncodings(kHeads, kHeadSize);
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < 40; ++i) ids.push_back(30 + i % 23);
  // Not the whole text turned round, which symmetric encodings cannot tell from the text.
  std::vector<int64_t> moved = ids;
  std::reverse(moved.begin(), moved.begin() + 17);
  for (const std::string& name : PositionalEncodingNames()) {
    const auto found = std::find_if(encodings.begin(), encodings.end(),
                                    [&](const NaiveEncoding& e) { return e.name == name; });
    ASSERT_NE(found, encodings.end()) << name;
    const NaiveEncoding& encoding = *found;
    for (const std::string& pattern : AttentionPatternNames()) {
      SCOPED_TRACE(encoding.name + " with " + pattern);
      NativeFolder folder(Config(encoding.name));
      folder.config["attention_pattern"] = pattern;
      folder.config["attention_options"] = PatternSettings().at(pattern);
      folder.AddEncoder();
      AddEncoding(encoding, folder);
      const auto model = folder.Load();
      ASSERT_TRUE(model.ok()) << model.status();
      EXPECT_EQ(model->info().positional_encoding, encoding.name);
      EXPECT_EQ(model->info().attention_pattern, pattern);
      EXPECT_TRUE(model->notes.empty());
      const RunOutput output =
          RunTexts(*model, {TextOf(ids), TextOf(moved), TextOf({5, 6})}, Everything());
      const RunOutput alone = RunTexts(*model, {TextOf(ids)}, Everything());
      const std::vector<float> first(output.logits.begin(), output.logits.begin() + kLabels);
      const std::vector<float> second(output.logits.begin() + kLabels,
                                      output.logits.begin() + 2 * kLabels);
      EXPECT_LT(LargestDifference(first, alone.logits), kTolerance);
      // In another order, a text is another one to all but an encoder without positions: that sees
      // the same set where its pattern hides nothing.
      const double difference = LargestDifference(first, second);
      if (encoding.name == "none" && pattern == "dense") {
        EXPECT_LT(difference, kTolerance);
      } else {
        EXPECT_GT(difference, 1e-3);
      }
      const std::vector<float>& weights = alone.attention[0].weights;
      const bool hides = std::count(weights.begin(), weights.end(), 0.F) > 0;
      EXPECT_EQ(hides, pattern != "dense");
    }
  }
}

TEST(HeedNativeTest, RefusesWhatTheEncodingOrPatternDoesNotKnow) {
  NativeFolder folder(Config("sinusoidal"));
  folder.AddEncoder();
  ASSERT_TRUE(folder.Load().ok());
  folder.config["positional_options"] = {{"nope", 1}};
  EXPECT_THAT(folder.Load().status().message(), HasSubstr("\"nope\""));
  folder.config["positional_options"] = {{"base", 500}};
  ASSERT_TRUE(folder.Load().ok());
  folder.config["attention_options"] = {{"nope", 1}};
  EXPECT_THAT(folder.Load().status().message(), HasSubstr("\"nope\""));
  folder.config.erase("attention_options");
  folder.config["attention_pattern"] = "spiral";
  EXPECT_THAT(folder.Load().status().message(), HasSubstr("\"spiral\""));
  folder.config.erase("attention_pattern");
  folder.config["positional_encoding"] = "spiral";
  EXPECT_THAT(folder.Load().status().message(), HasSubstr("\"spiral\""));
}

// A position tensor that the encoding does not read would be left out of the computation.
TEST(HeedNativeTest, RefusesPositionTensorsOfNoUse) {
  for (const char* const name : {"positional.table", "layers.1.positional.key_table"}) {
    NativeFolder folder(Config("sinusoidal"));
    folder.AddEncoder();
    folder.AddRandom(name, {4, 4}, 1);
    const absl::Status status = folder.Load().status();
    EXPECT_EQ(GetErrorDetail(status).reason, "UNEXPECTED_TENSOR") << status;
    EXPECT_THAT(status.message(), HasSubstr(name));
  }
}

TEST(HeedNativeTest, OptionsReachTheEncoding) {
  NativeFolder folder(Config("sinusoidal"));
  folder.AddEncoder();
  const std::vector<TokenIds> texts = {TextOf({2, 30, 31, 3})};
  const std::vector<float> plain = RunTexts(*folder.Load(), texts).logits;
  folder.config["positional_options"] = {{"base", 10000.0}};
  EXPECT_EQ(RunTexts(*folder.Load(), texts).logits, plain);
  folder.config["positional_options"] = {{"base", 10}};
  EXPECT_GT(LargestDifference(RunTexts(*folder.Load(), texts).logits, plain), 1e-3);
}

// By hand: one filter of width 1 that reads the word's own number gives the largest id.
TEST(HeedNativeTest, TextCnn) {
  NativeFolder folder({{"model_type", "text_cnn"},
                       {"hidden_size", 1},
                       {"vocab_size", 312},
                       {"kernel_sizes", {1}},
                       {"filter_count", 1},
                       {"num_labels", 2}});
  folder.AddRandom("embeddings.word.weight", {312, 1}, 0);
  auto& words = folder.tensors["embeddings.word.weight"].values;
  for (size_t id = 0; id < words.size(); ++id) words[id] = static_cast<float>(id);
  folder.tensors["convolutions.0.weight"] = {{1, 1, 1}, {1}};
  folder.tensors["convolutions.0.bias"] = {{1}, {0.5F}};
  folder.tensors["classifier.weight"] = {{2, 1}, {1, -1}};
  folder.tensors["classifier.bias"] = {{2}, {0, 2}};
  LoadOptions options;
  options.precision = "bf16";
  const auto model = folder.Load(options);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->info().architecture, "text_cnn");
  EXPECT_EQ(model->info().positional_encoding, "none");
  EXPECT_EQ(model->info().attention_pattern, "none");
  EXPECT_EQ(model->info().precision, "fp32");
  EXPECT_EQ(model->info().parameter_count, 312 + 1 + 1 + 2 + 2);
  const std::vector<TokenIds> texts = {TextOf({2, 40, 3}), TextOf({7})};
  const RunOutput output = RunTexts(*model, texts);
  EXPECT_THAT(output.logits, testing::ElementsAre(40.5, -38.5, 7.5, -5.5));
  EXPECT_NEAR(output.scores[0] + output.scores[1], 1, 1e-6);
  RaggedBatch batch;
  batch.Append(texts[0]);
  Wants attention;
  attention.attention = {{0, 0, {}, 0, -1}};
  Wants states;
  states.hidden_states = true;
  for (const Wants& wants : {attention, states}) {
    const absl::Status status = model->runner->Run(batch, wants).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  }
  batch.ids[0] = 312;
  EXPECT_EQ(model->runner->Run(batch, {}).status().code(), absl::StatusCode::kInvalidArgument);
  options.headless = true;
  EXPECT_EQ(folder.Load(options).status().code(), absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace heed
