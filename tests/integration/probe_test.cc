// Probes the whole way: models whose answer is known from what they are, served by the program and
// asked over a real connection.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "heed/v1/classification.grpc.pb.h"
#include "heed/v1/probe.grpc.pb.h"
#include "model/checkpoint/json.h"
#include "model/checkpoint/safetensors.h"
#include "tests/integration/server_process.h"
#include "tests/model/native_folder.h"

namespace heed {
namespace {

using testing::ServerProcess;
using Floats = std::vector<float>;

// Every word is one token of the reference BERT, and others of the reference models'.
constexpr char kText[] = "the late needle loses one quick screen the kettle";
constexpr int64_t kWidth = 24;
constexpr int64_t kHeads = 3;

// Golden folders with a classifier of texts.
const std::vector<std::string>& Golden() {
  static const auto* const names =
      new std::vector<std::string>{"albert",     "bert",       "big_bird_original_full",
                                   "deberta",    "deberta_v2", "eurobert",
                                   "longformer", "mpnet",      "modernbert",
                                   "roberta",    "roformer",   "squeezebert",
                                   "xlnet"};
  return *names;
}

Floats ReadTensor(const std::string& model, const std::string& name) {
  const auto file = SafetensorsFile::Open("tests/golden/" + model + "/model.safetensors");
  if (!file.ok() || (*file)->Find(name) == nullptr) throw std::runtime_error("no " + name);
  const TensorView& view = *(*file)->Find(name);
  Floats values(view.data.size() / sizeof(float));
  std::memcpy(values.data(), view.data.data(), view.data.size());
  return values;
}

Floats Values(const v1::Tensor& tensor) {
  Floats values(tensor.data().size() / sizeof(float));
  std::memcpy(values.data(), tensor.data().data(), tensor.data().size());
  return values;
}

float LargestDifference(const Floats& a, const Floats& b) {
  EXPECT_EQ(a.size(), b.size());
  float largest = 0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (!(std::abs(a[i] - b[i]) <= largest)) largest = std::abs(a[i] - b[i]);
  }
  return largest;
}

nlohmann::json NativeConfig(const std::string& encoding) {
  return {{"model_type", "heed"},           {"hidden_size", kWidth},
          {"num_hidden_layers", 2},         {"num_attention_heads", kHeads},
          {"intermediate_size", 20},        {"vocab_size", 312},
          {"max_position_embeddings", 64},  {"num_labels", 4},
          {"positional_encoding", encoding}};
}

class ProbeTest : public ::testing::Test {
 protected:
  // The models by name and folder.
  void Serve(const std::vector<std::pair<std::string, std::string>>& models) {
    std::vector<std::string> arguments;
    for (const auto& [name, path] : models) {
      arguments.push_back(absl::StrCat("--model=", name, "=", path));
    }
    server_ = ServerProcess::Start(arguments);
    ASSERT_NE(server_, nullptr);
    const auto channel =
        grpc::CreateChannel(server_->address(), grpc::InsecureChannelCredentials());
    probe_ = v1::ProbeService::NewStub(channel);
    classification_ = v1::ClassificationService::NewStub(channel);
  }
  void ServeGolden(const std::vector<std::string>& names) {
    std::vector<std::pair<std::string, std::string>> models;
    for (const std::string& name : names) models.emplace_back(name, "tests/golden/" + name);
    Serve(models);
  }
  void ServeNative(const NativeFolder& folder) {
    ASSERT_TRUE(folder.Write().ok());
    Serve({{"native", folder.path()}});
  }

  v1::ProbePermutationResponse Permute(const std::string& model) {
    v1::ProbePermutationRequest request;
    request.mutable_model()->set_name(model);
    request.mutable_input()->set_text(kText);
    request.set_permutation_count(100);
    v1::ProbePermutationResponse response;
    grpc::ClientContext context;
    const grpc::Status status = probe_->ProbePermutation(&context, request, &response);
    EXPECT_TRUE(status.ok()) << model << ": " << status.error_message();
    return response;
  }

  v1::GetLayerProfileResponse Profile(const std::string& model) {
    v1::GetLayerProfileRequest request;
    request.mutable_model()->set_name(model);
    request.add_inputs()->set_text(kText);
    v1::GetLayerProfileResponse response;
    grpc::ClientContext context;
    const grpc::Status status = probe_->GetLayerProfile(&context, request, &response);
    EXPECT_TRUE(status.ok()) << model << ": " << status.error_message();
    return response;
  }

  v1::GetPositionSimilarityResponse Similarity(const std::string& model, uint32_t count,
                                               const std::string& encoding = "") {
    v1::GetPositionSimilarityRequest request;
    request.mutable_model()->set_name(model);
    request.set_position_count(count);
    request.set_encoding(encoding);
    v1::GetPositionSimilarityResponse response;
    grpc::ClientContext context;
    const grpc::Status status = probe_->GetPositionSimilarity(&context, request, &response);
    EXPECT_TRUE(status.ok()) << model << ": " << status.error_message();
    return response;
  }

  Floats Logits(const std::string& model, const v1::PositionOverride& positions,
                const std::string& text = kText) {
    v1::ClassifyRequest request;
    request.mutable_model()->set_name(model);
    request.add_inputs()->set_text(text);
    request.set_return_logits(true);
    *request.mutable_position_override() = positions;
    v1::ClassifyResponse response;
    grpc::ClientContext context;
    const grpc::Status status = classification_->Classify(&context, request, &response);
    EXPECT_TRUE(status.ok()) << model << ": " << status.error_message();
    if (!status.ok()) return {};
    tokens_ = response.results(0).usage().token_count();
    return {response.results(0).logits().begin(), response.results(0).logits().end()};
  }

  std::unique_ptr<ServerProcess> server_;
  std::unique_ptr<v1::ProbeService::Stub> probe_;
  std::unique_ptr<v1::ClassificationService::Stub> classification_;
  uint32_t tokens_ = 0;  // of the latest text
};

v1::PositionOverride Offset(int64_t offset) {
  v1::PositionOverride positions;
  positions.set_offset(offset);
  return positions;
}

TEST_F(ProbeTest, WithoutPositionsOrderChangesNothing) {
  NativeFolder folder(NativeConfig("none"));
  folder.AddEncoder();
  ServeNative(folder);
  const v1::ProbePermutationResponse response = Permute("native");
  EXPECT_LT(response.equivariance_error(), 1e-5);
  EXPECT_EQ(response.label_agreement(), 1);
  ASSERT_EQ(response.permuted_size(), 100);
  for (const v1::Classification& result : response.permuted()) {
    EXPECT_NEAR(result.labels(0).score(), response.original().labels(0).score(), 1e-5);
  }
  // Without positions all of a score is content.
  const v1::GetLayerProfileResponse profile = Profile("native");
  ASSERT_EQ(profile.layers_size(), 2);
  for (const v1::LayerProfile& layer : profile.layers()) {
    ASSERT_EQ(layer.content_share_size(), kHeads);
    for (int64_t head = 0; head < kHeads; ++head) {
      EXPECT_NEAR(layer.content_share(head), 1, 0.02);
      EXPECT_NEAR(layer.position_share(head), 0, 0.02);
    }
  }
}

// Queries of zero leave ALiBi's bias alone in the scores.
TEST_F(ProbeTest, WithoutQueriesPositionsExplainTheScores) {
  NativeFolder folder(NativeConfig("alibi"));
  folder.AddEncoder();
  for (const char* const layer : {"0", "1"}) {
    const std::string name = absl::StrCat("layers.", layer, ".attention.query_key_value.");
    Floats& weight = folder.tensors[name + "weight"].values;
    std::fill(weight.begin(), weight.begin() + kWidth * kWidth, 0.0F);
    Floats& bias = folder.tensors[name + "bias"].values;
    std::fill(bias.begin(), bias.begin() + kWidth, 0.0F);
  }
  ServeNative(folder);
  const v1::GetLayerProfileResponse profile = Profile("native");
  for (const v1::LayerProfile& layer : profile.layers()) {
    for (int64_t head = 0; head < kHeads; ++head) {
      EXPECT_NEAR(layer.position_share(head), 1, 0.02);
      EXPECT_NEAR(layer.content_share(head), 0, 0.02);
    }
  }
  const v1::GetPositionSimilarityResponse response = Similarity("native", 5);
  const Floats kernel = Values(response.similarity());
  ASSERT_EQ(kernel.size(), static_cast<size_t>(kHeads * 25));
  for (int64_t head = 0; head < kHeads; ++head) {
    const float slope = -kernel[head * 25 + 1];
    EXPECT_GT(slope, 0);
    for (int64_t i = 0; i < 5; ++i) {
      for (int64_t j = 0; j < 5; ++j) {
        EXPECT_NEAR(kernel[head * 25 + i * 5 + j], -slope * std::abs(i - j), 1e-6);
      }
    }
  }
}

TEST_F(ProbeTest, SinusoidalSimilarityIsItsSumOfCosines) {
  NativeFolder folder(NativeConfig("sinusoidal"));
  folder.AddEncoder();
  ServeNative(folder);
  EXPECT_GT(Permute("native").equivariance_error(), 0.1);
  const v1::GetPositionSimilarityResponse response = Similarity("native", 9);
  EXPECT_EQ(response.encoding(), "sinusoidal");
  const Floats similarity = Values(response.similarity());
  ASSERT_EQ(similarity.size(), 81U);
  for (int64_t i = 0; i < 9; ++i) {
    for (int64_t j = 0; j < 9; ++j) {
      double expected = 0;
      for (int64_t k = 0; k < kWidth / 2; ++k) {
        expected += std::cos(static_cast<double>(i - j) *
                             std::pow(10000.0, -2.0 * static_cast<double>(k) / kWidth));
      }
      EXPECT_NEAR(similarity[i * 9 + j], expected, 1e-4);
    }
  }
}

TEST_F(ProbeTest, EveryEncodingMovesHiddenStates) {
  ServeGolden(Golden());
  for (const std::string& name : Golden()) {
    SCOPED_TRACE(name);
    const v1::ProbePermutationResponse response = Permute(name);
    EXPECT_GT(response.equivariance_error(), 1e-3);
    EXPECT_TRUE(std::isfinite(response.equivariance_error()));
    EXPECT_GT(response.label_agreement(), 0);
    EXPECT_LE(response.label_agreement(), 1);
  }
}

TEST_F(ProbeTest, EveryModelHasALayerProfile) {
  std::vector<std::string> names = Golden();
  names.insert(names.end(), {"t5_token_cls", "bert_token_cls"});
  ServeGolden(names);
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    const v1::GetLayerProfileResponse profile = Profile(name);
    EXPECT_GT(profile.layers_size(), 0);
    float largest = 0;
    for (const v1::LayerProfile& layer : profile.layers()) {
      ASSERT_GT(layer.position_share_size(), 0);
      ASSERT_EQ(layer.position_share_size(), layer.content_share_size());
      for (int head = 0; head < layer.position_share_size(); ++head) {
        const float position = layer.position_share(head);
        const float content = layer.content_share(head);
        EXPECT_TRUE(position >= 0 && content >= 0 && position + content <= 1 + 1e-5F)
            << position << " " << content;
        largest = std::max(largest, position);
      }
    }
    EXPECT_GT(largest, 0.01);
  }
}

TEST_F(ProbeTest, SimilarityIsThatOfTheModelsTables) {
  ServeGolden({"bert", "roberta", "mpnet"});
  // RoBERTa's first position is row padding_idx + 1 = 2.
  for (const auto& [name, width, first] :
       {std::tuple<std::string, int64_t, int64_t>{"bert", 40, 0}, {"roberta", 48, 2}}) {
    SCOPED_TRACE(name);
    const Floats table = ReadTensor(name, name + ".embeddings.position_embeddings.weight");
    const v1::GetPositionSimilarityResponse response = Similarity(name, 12);
    EXPECT_EQ(response.encoding(), "learned");
    const Floats similarity = Values(response.similarity());
    ASSERT_EQ(similarity.size(), 144U);
    for (int64_t i = 0; i < 12; ++i) {
      for (int64_t j = 0; j < 12; ++j) {
        double expected = 0;
        for (int64_t d = 0; d < width; ++d) {
          expected += static_cast<double>(table[(i + first) * width + d]) *
                      static_cast<double>(table[(j + first) * width + d]);
        }
        EXPECT_NEAR(similarity[i * 12 + j], expected, 1e-4) << i << " " << j;
      }
    }
  }
  // Up to distance 7 a bucket is a distance; keys after the query have the upper 16.
  const Floats table = ReadTensor("mpnet", "mpnet.encoder.relative_attention_bias.weight");
  const v1::GetPositionSimilarityResponse response = Similarity("mpnet", 8, "mpnet_bias");
  EXPECT_EQ(response.encoding(), "mpnet_bias");
  ASSERT_EQ(response.similarity().shape_size(), 3);
  EXPECT_EQ(response.similarity().shape(0), 4);
  const Floats kernel = Values(response.similarity());
  for (int64_t head = 0; head < 4; ++head) {
    for (int64_t i = 0; i < 8; ++i) {
      for (int64_t j = 0; j < 8; ++j) {
        const int64_t bucket = std::abs(i - j) + (j > i ? 16 : 0);
        EXPECT_NEAR(kernel[(head * 8 + i) * 8 + j], table[bucket * 4 + head], 1e-6);
      }
    }
  }
}

TEST_F(ProbeTest, OverridesActWherePositionsAreAbsolute) {
  ServeGolden({"bert", "roberta", "roformer", "eurobert"});
  for (const auto& [name, relative] : {std::pair<std::string, bool>("bert", false),
                                       {"roberta", false},
                                       {"roformer", true},
                                       {"eurobert", true}}) {
    SCOPED_TRACE(name);
    const Floats plain = Logits(name, {});
    v1::PositionOverride same;
    v1::PositionOverride reversed;
    for (uint32_t i = 0; i < tokens_; ++i) {
      same.mutable_positions()->add_positions(i);
      reversed.mutable_positions()->add_positions(tokens_ - 1 - i);
    }
    EXPECT_EQ(LargestDifference(Logits(name, same), plain), 0);
    EXPECT_GT(LargestDifference(Logits(name, reversed), plain), 1e-4);
    const float shifted = LargestDifference(Logits(name, Offset(7)), plain);
    if (relative) {
      EXPECT_LT(shifted, 1e-4);
    } else {
      EXPECT_GT(shifted, 1e-4);
    }
  }
}

TEST_F(ProbeTest, DisabledPositionsMakeOrderMeaningless) {
  ServeGolden({"bert", "roformer", "mpnet"});
  const std::string reordered = "kettle the screen one quick loses needle the late";
  v1::PositionOverride disabled;
  disabled.set_disabled(true);
  for (const char* const name : {"bert", "roformer", "mpnet"}) {
    SCOPED_TRACE(name);
    EXPECT_GT(LargestDifference(Logits(name, {}), Logits(name, {}, reordered)), 1e-4);
    EXPECT_LT(LargestDifference(Logits(name, disabled), Logits(name, disabled, reordered)), 1e-5);
  }
}

// Each family spells its mask token in its own way.
TEST_F(ProbeTest, MaskTokensAreFound) {
  ServeGolden(Golden());
  for (const std::string& name : Golden()) {
    SCOPED_TRACE(name);
    v1::ProbeMaskingRequest request;
    request.mutable_model()->set_name(name);
    request.mutable_input()->set_text(kText);
    request.add_fractions(0.3F);
    request.set_repeat_count(8);
    v1::ProbeMaskingResponse response;
    grpc::ClientContext context;
    const grpc::Status status = probe_->ProbeMasking(&context, request, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_GT(response.results(0).mean_score_of_original_label(), 0);
    EXPECT_NE(response.results(0).mean_score_of_original_label(),
              response.original().labels(0).score());
  }
}

}  // namespace
}  // namespace heed
