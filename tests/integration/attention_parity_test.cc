// Attention the whole way: every reference model is served, its texts go over a real connection,
// and what arrives is compared with the reference's maps.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "heed/v1/attention.grpc.pb.h"
#include "heed/v1/classification.grpc.pb.h"
#include "tests/integration/server_process.h"
#include "tests/model/golden.h"

namespace heed {
namespace {

using testing::ServerProcess;

constexpr double kTolerance = 1e-4;
constexpr double kLogitTolerance = 1e-4;

// Folders whose reference has a head; the server refuses the others.
std::vector<std::string> Servable() {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("tests/golden")) {
    if (!std::filesystem::exists(entry.path() / "cases.json")) continue;
    const auto cases = ReadGoldenCases(entry.path().filename().string());
    if (cases[0].Has("logits")) names.insert(entry.path().filename().string());
  }
  return {names.begin(), names.end()};
}

// Attention maps as probabilities over real keys, under whichever name the reference has them.
std::string MapsName(const GoldenCase& golden, int64_t layer) {
  for (const char* const name :
       {"attention_probs.", "attentions_dense.", "attentions_effective."}) {
    if (golden.Has(name + std::to_string(layer))) return name + std::to_string(layer);
  }
  return "attentions." + std::to_string(layer);
}

// A text for which the padded reference and the text alone mean the same.
bool Comparable(const GoldenCase& golden, int64_t row) {
  const auto mask = golden.Values<int64_t>("attention_mask");
  const auto [begin, end] = golden.Real(row);
  for (int64_t i = begin; i < end; ++i) {
    if (mask[row * golden.width() + i] == 0) return false;  // a hole, which the API cannot ask for
  }
  // Some rules look at how wide the reference was padded, on either side; and a chosen global
  // attention is not part of the API.
  return begin == 0 && end == golden.width() && !golden.Has("global_attention_mask");
}

struct Received {
  v1::AttentionHeader header;
  std::vector<float> values;  // [layers, heads, rows, columns]
  uint64_t bytes = 0;
};

class AttentionParityTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::vector<std::string> arguments;
    for (const std::string& name : Servable()) {
      arguments.push_back("--model=" + name + "=tests/golden/" + name);
    }
    server_ = ServerProcess::Start(arguments).release();
  }
  static void TearDownTestSuite() {
    delete server_;
    server_ = nullptr;
  }
  void SetUp() override {
    ASSERT_NE(server_, nullptr);
    const auto channel =
        grpc::CreateChannel(server_->address(), grpc::InsecureChannelCredentials());
    attention_ = v1::AttentionService::NewStub(channel);
    classification_ = v1::ClassificationService::NewStub(channel);
  }

  static v1::GetAttentionRequest Request(const std::string& model, const nlohmann::json& text) {
    v1::GetAttentionRequest request;
    request.mutable_model()->set_name(model);
    request.mutable_input()->set_text(text[0]);
    if (!text[1].is_null()) request.mutable_input()->set_text_pair(text[1].get<std::string>());
    return request;
  }

  Received Get(const v1::GetAttentionRequest& request) {
    Received received;
    grpc::ClientContext context;
    const auto reader = attention_->GetAttention(&context, request);
    v1::GetAttentionResponse response;
    while (reader->Read(&response)) {
      EXPECT_LE(response.ByteSizeLong(), size_t{1} << 20);
      if (response.has_header()) {
        received.header = response.header();
      } else {
        Append(response.tile(), received);
      }
    }
    const grpc::Status status = reader->Finish();
    EXPECT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(received.bytes, received.header.total_bytes());
    return received;
  }

  static void Append(const v1::AttentionTile& tile, Received& received) {
    const v1::Tensor& tensor = tile.weights();
    received.bytes += tensor.data().size();
    const int64_t columns = tensor.shape_size() > 1 ? tensor.shape(1) : 1;
    const auto count = static_cast<size_t>(tensor.shape(0) * columns);
    for (size_t i = 0; i < count; ++i) {
      if (tensor.type() == v1::TENSOR_TYPE_UINT8) {
        const auto q = static_cast<uint8_t>(tensor.data()[i]);
        received.values.push_back(static_cast<float>(q) *
                                  tensor.scales(static_cast<int>(i / columns)));
      } else if (tensor.type() == v1::TENSOR_TYPE_FLOAT16) {
        _Float16 half = 0;
        std::memcpy(&half, &tensor.data()[i * 2], 2);
        received.values.push_back(static_cast<float>(half));
      } else {
        float value = 0;
        std::memcpy(&value, &tensor.data()[i * 4], 4);
        received.values.push_back(value);
      }
    }
  }

  static ServerProcess* server_;
  std::unique_ptr<v1::AttentionService::Stub> attention_;
  std::unique_ptr<v1::ClassificationService::Stub> classification_;
};
ServerProcess* AttentionParityTest::server_ = nullptr;

TEST_F(AttentionParityTest, EveryModelSendsTheReferencesMaps) {
  for (const std::string& name : Servable()) {
    int compared = 0;
    double worst = 0;
    for (const GoldenCase& golden : ReadGoldenCases(name)) {
      for (int64_t row = 0; row < golden.rows(); ++row) {
        if (golden.id() == "xlong" || !Comparable(golden, row)) continue;
        SCOPED_TRACE(name + ", case " + golden.id() + ", row " + std::to_string(row));
        const Received received = Get(Request(name, golden.description()["texts"][row]));
        const int64_t n = golden.length(row);
        const int64_t layers = golden.attention_count();
        ASSERT_EQ(received.header.tokens_size(), n);
        if (layers == 0) continue;
        ASSERT_EQ(received.header.layers_size(), layers);
        const int64_t heads = received.header.heads_size();
        ASSERT_EQ(received.values.size(), static_cast<size_t>(layers * heads * n * n));
        const auto map_size = static_cast<size_t>(heads * n * n);
        for (int64_t layer = 0; layer < layers; ++layer) {
          const auto expected = golden.Values<float>(MapsName(golden, layer));
          ASSERT_EQ(expected.size(), map_size * golden.rows());
          for (size_t i = 0; i < map_size; ++i) {
            const double difference =
                std::abs(received.values[layer * map_size + i] - expected[row * map_size + i]);
            worst = std::max(worst, difference);
          }
        }
        for (size_t begin = 0; begin < received.values.size(); begin += n) {
          double sum = 0;
          for (int64_t j = 0; j < n; ++j) sum += received.values[begin + j];
          ASSERT_NEAR(sum, 1, 1e-3);
        }
        ++compared;
      }
    }
    EXPECT_GT(compared, 0) << name;
    EXPECT_LE(worst, kTolerance) << name;
  }
}

TEST_F(AttentionParityTest, AskingChangesNoLogit) {
  for (const std::string& name : Servable()) {
    SCOPED_TRACE(name);
    const GoldenCase golden = ReadGoldenCases(name)[0];
    const auto& text = golden.description()["texts"][0];
    const Received received = Get(Request(name, text));
    v1::ClassifyRequest request;
    request.mutable_model()->set_name(name);
    request.add_inputs()->set_text(text[0]);
    request.set_return_logits(true);
    v1::ClassifyResponse response;
    grpc::ClientContext context;
    const grpc::Status status = classification_->Classify(&context, request, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    const auto& plain = response.results(0);
    const auto& attended = received.header.classification();
    ASSERT_EQ(plain.logits_size(), attended.logits_size());
    for (int i = 0; i < plain.logits_size(); ++i) {
      EXPECT_EQ(plain.logits(i), attended.logits(i));
    }
    if (golden.Has("logits") && plain.logits_size() > 0) {
      const auto expected = golden.Values<float>("logits");
      for (int i = 0; i < plain.logits_size(); ++i) {
        EXPECT_NEAR(plain.logits(i), expected[i], kLogitTolerance);
      }
    }
  }
}

TEST_F(AttentionParityTest, SmallerTypesKeepTheirBounds) {
  const GoldenCase golden = ReadGoldenCases("roberta").back();
  v1::GetAttentionRequest request = Request("roberta", golden.description()["texts"][0]);
  const Received exact = Get(request);
  const auto columns = static_cast<size_t>(exact.header.shape(3));
  for (const v1::TensorType type : {v1::TENSOR_TYPE_FLOAT16, v1::TENSOR_TYPE_UINT8}) {
    request.set_type(type);
    const Received rounded = Get(request);
    ASSERT_EQ(rounded.values.size(), exact.values.size());
    for (size_t row = 0; row < exact.values.size(); row += columns) {
      double sum = 0;
      const float largest =
          *std::max_element(exact.values.begin() + row, exact.values.begin() + row + columns);
      for (size_t i = row; i < row + columns; ++i) {
        sum += rounded.values[i];
        ASSERT_NEAR(rounded.values[i], exact.values[i],
                    type == v1::TENSOR_TYPE_UINT8 ? 1.01 * largest / 255 : 5e-4 * largest + 1e-7);
      }
      ASSERT_NEAR(sum, 1, 1e-3);
    }
  }
}

// Selectors, mean over heads, top k, entropy: each a function of the whole that arrived before.
TEST_F(AttentionParityTest, PartsAgreeWithTheWhole) {
  const GoldenCase golden = ReadGoldenCases("deberta_v2")[1];
  const auto& text = golden.description()["texts"][0];
  const Received whole = Get(Request("deberta_v2", text));
  const int64_t heads = whole.header.shape(1);
  const int64_t n = whole.header.shape(2);
  const auto at = [&](int64_t layer, int64_t head, int64_t row, int64_t column) {
    return whole.values[((layer * heads + head) * n + row) * n + column];
  };
  v1::GetAttentionRequest request = Request("deberta_v2", text);
  request.mutable_layers()->add_indices(-1);
  request.mutable_heads()->add_indices(1);
  request.mutable_heads()->add_indices(0);
  request.mutable_query_rows()->add_indices(-1);
  auto* const range = request.mutable_query_rows()->add_ranges();
  range->set_start(0);
  range->set_end(2);
  request.mutable_key_columns()->add_indices(2);
  request.mutable_key_columns()->add_indices(0);
  const Received part = Get(request);
  const int64_t last = whole.header.shape(0) - 1;
  ASSERT_EQ(part.values.size(), 12u);
  size_t i = 0;
  for (const int64_t head : {1, 0}) {
    for (const int64_t row : {n - 1, int64_t{0}, int64_t{1}}) {
      for (const int64_t column : {2, 0}) {
        EXPECT_NEAR(part.values[i++], at(last, head, row, column), 1e-6);
      }
    }
  }
  request = Request("deberta_v2", text);
  request.set_reduction(v1::ATTENTION_REDUCTION_MEAN_HEADS);
  const Received mean = Get(request);
  ASSERT_EQ(mean.values.size(), static_cast<size_t>((last + 1) * n * n));
  for (int64_t row = 0; row < n; ++row) {
    double sum = 0;
    for (int64_t head = 0; head < heads; ++head) sum += at(last, head, row, 1);
    EXPECT_NEAR(mean.values[(last * n + row) * n + 1], sum / heads, 1e-6);
  }
  request.set_reduction(v1::ATTENTION_REDUCTION_ENTROPY);
  const Received entropy = Get(request);
  ASSERT_EQ(entropy.values.size(), static_cast<size_t>((last + 1) * heads * n));
  double expected = 0;
  for (int64_t column = 0; column < n; ++column) {
    const double p = at(0, 1, 2, column);
    if (p > 0) expected -= p * std::log(p);
  }
  EXPECT_NEAR(entropy.values[n + 2], expected, 1e-5);
}

}  // namespace
}  // namespace heed
