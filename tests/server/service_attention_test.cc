// GetAttention over real gRPC: what comes, in every form, and the status of each bad request.
#include <cmath>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/server/attention_fixture.h"
#include "tests/server/tensor_decoding.h"

namespace heed {
namespace {

class ServiceAttentionTest : public AttentionFixture {};

std::vector<int64_t> Shape(const v1::Tensor& tensor) {
  return {tensor.shape().begin(), tensor.shape().end()};
}

template <typename Repeated>
std::vector<int64_t> List(const Repeated& values) {
  return {values.begin(), values.end()};
}

using Ints = std::vector<int64_t>;

TEST_F(ServiceAttentionTest, HeaderSaysWhatComes) {
  const AttentionAnswer answer = Ask("input { text: 'ab abc' }");
  ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
  const v1::AttentionHeader& header = answer.header;
  EXPECT_EQ(header.model_name(), "plain");
  EXPECT_EQ(header.model_version(), "v1");
  ASSERT_EQ(header.tokens_size(), 4);
  EXPECT_TRUE(header.tokens(0).special());
  EXPECT_EQ(header.tokens(2).piece(), "abc");
  EXPECT_EQ(header.tokens(2).start_byte(), 3u);
  EXPECT_EQ(header.tokens(2).end_char(), 6u);
  EXPECT_EQ(List(header.layers()), Ints({0, 1}));
  EXPECT_EQ(List(header.heads()), Ints({0, 1, 2, 3}));
  EXPECT_EQ(List(header.query_rows()), Ints({0, 1, 2, 3}));
  EXPECT_EQ(List(header.key_columns()), Ints({0, 1, 2, 3}));
  EXPECT_EQ(List(header.shape()), Ints({2, 4, 4, 4}));
  EXPECT_EQ(header.type(), v1::TENSOR_TYPE_FLOAT32);
  EXPECT_EQ(header.total_bytes(), 2u * 4 * 4 * 4 * 4);
  // Asking for attention does not change the answer.
  v1::ClassifyRequest request = Request({"ab abc"});
  request.mutable_model()->set_name("plain");
  v1::ClassifyResponse response;
  ASSERT_TRUE(Classify(request, response).ok());
  EXPECT_EQ(header.classification().labels(0).score(), response.results(0).labels(0).score());
  EXPECT_EQ(header.classification().labels(0).label(), response.results(0).labels(0).label());
  EXPECT_EQ(header.classification().usage().token_count(), 4u);
  EXPECT_TRUE(header.classification().timing().has_compute());
}

TEST_F(ServiceAttentionTest, TilesHoldEveryWeightInOrder) {
  const AttentionAnswer answer = Ask("input { text: 'ab abc' }");
  ASSERT_EQ(answer.tiles.size(), 8u);
  uint64_t bytes = 0;
  for (size_t t = 0; t < answer.tiles.size(); ++t) {
    const v1::AttentionTile& tile = answer.tiles[t];
    EXPECT_EQ(tile.layer(), t / 4);
    EXPECT_EQ(tile.head(), t % 4);
    EXPECT_EQ(tile.first_row(), 0u);
    EXPECT_EQ(tile.columns_size(), 0);
    EXPECT_EQ(Shape(tile.weights()), Ints({4, 4}));
    bytes += tile.weights().data().size();
    const std::vector<double> values = DecodeTensor(tile.weights());
    for (int i = 0; i < 16; ++i) {
      EXPECT_FLOAT_EQ(values[i], FakeWeight(tile.layer(), tile.head(), i / 4, i % 4, 4));
    }
  }
  EXPECT_EQ(bytes, answer.header.total_bytes());
}

TEST_F(ServiceAttentionTest, SelectorsKeepTheirOrder) {
  const AttentionAnswer answer = Ask(
      "input { text: 'a b c d e f' } layers { indices: -1 } heads { indices: [3, 0] } "
      "query_rows { indices: [5, 1] ranges { start: 2 end: 4 } } key_columns { indices: [-1, 2] }");
  ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
  EXPECT_EQ(List(answer.header.layers()), Ints({1}));
  EXPECT_EQ(List(answer.header.heads()), Ints({3, 0}));
  EXPECT_EQ(List(answer.header.query_rows()), Ints({5, 1, 2, 3}));
  EXPECT_EQ(List(answer.header.key_columns()), Ints({7, 2}));
  ASSERT_EQ(answer.tiles.size(), 2u);
  const int64_t rows[] = {5, 1, 2, 3};
  const int64_t columns[] = {7, 2};
  for (const v1::AttentionTile& tile : answer.tiles) {
    const std::vector<double> values = DecodeTensor(tile.weights());
    ASSERT_EQ(values.size(), 8u);
    for (int i = 0; i < 8; ++i) {
      EXPECT_FLOAT_EQ(values[i], FakeWeight(1, tile.head(), rows[i / 2], columns[i % 2], 8));
    }
  }
  // What the model was asked for: no more rows than that.
  const CaptureRequest capture = plain_->reads().captures().back();
  EXPECT_EQ(capture.row_begin, 1);
  EXPECT_EQ(capture.row_end, 6);
  EXPECT_EQ(capture.heads, Ints({3, 0}));
}

TEST_F(ServiceAttentionTest, RowsSumToOneInEveryType) {
  for (const char* type : {"FLOAT32", "FLOAT16", "UINT8"}) {
    const AttentionAnswer answer = Ask(LongRequest(100, absl::StrCat("type: TENSOR_TYPE_", type)));
    ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
    ASSERT_EQ(answer.tiles.size(), 8u);
    uint64_t bytes = 0;
    for (const v1::AttentionTile& tile : answer.tiles) {
      EXPECT_EQ(tile.weights().type(), answer.header.type());
      bytes += tile.weights().data().size();
      const std::vector<double> values = DecodeTensor(tile.weights());
      for (int row = 0; row < 100; ++row) {
        double sum = 0;
        for (int column = 0; column < 100; ++column) {
          const double value = values[row * 100 + column];
          const double weight = FakeWeight(tile.layer(), tile.head(), row, column, 100);
          sum += value;
          ASSERT_NEAR(value, weight, 0.018 / 255) << type;  // 7/400 at most, one level
        }
        ASSERT_NEAR(sum, 1, 1e-3) << type;
      }
    }
    EXPECT_EQ(bytes, answer.header.total_bytes());
  }
}

TEST_F(ServiceAttentionTest, TopKIsTheLargestFirstAndTiesByToken) {
  const AttentionAnswer answer = Ask(
      LongRequest(20,
                  "layers { indices: 0 } heads { indices: 2 } query_rows { indices: 3 } top_k: 4 "
                  "key_columns { ranges { start: -10 end: 20 } ranges { start: 0 end: 8 } }"));
  ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
  EXPECT_EQ(List(answer.header.shape()), Ints({1, 1, 1, 4}));
  ASSERT_EQ(answer.tiles.size(), 1u);
  EXPECT_EQ(Shape(answer.tiles[0].weights()), Ints({1, 4}));
  // 13 + 5 key = 6 mod 7 at keys 0, 7, 14; then 5 at 4, 11, 18.
  EXPECT_EQ(List(answer.tiles[0].columns()), Ints({0, 7, 14, 4}));
  const std::vector<double> values = DecodeTensor(answer.tiles[0].weights());
  EXPECT_FLOAT_EQ(values[2], FakeWeight(0, 2, 3, 14, 20));
  EXPECT_FLOAT_EQ(values[3], FakeWeight(0, 2, 3, 4, 20));
}

TEST_F(ServiceAttentionTest, MeanOverHeads) {
  const AttentionAnswer answer = Ask(
      "input { text: 'a b' } reduction: ATTENTION_REDUCTION_MEAN_HEADS heads { indices: [1, 3] }");
  ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
  EXPECT_EQ(List(answer.header.shape()), Ints({2, 1, 4, 4}));
  EXPECT_EQ(List(answer.header.heads()), Ints({1, 3}));
  ASSERT_EQ(answer.tiles.size(), 2u);
  EXPECT_EQ(answer.tiles[1].layer(), 1u);
  EXPECT_EQ(answer.tiles[1].head(), 0u);
  EXPECT_FLOAT_EQ(DecodeTensor(answer.tiles[1].weights())[6],
                  (FakeWeight(1, 1, 1, 2, 4) + FakeWeight(1, 3, 1, 2, 4)) / 2);
}

TEST_F(ServiceAttentionTest, OneNumberARow) {
  const AttentionAnswer entropy = Ask(
      "input { text: 'a' } reduction: ATTENTION_REDUCTION_ENTROPY query_rows { indices: [2, 0] }");
  ASSERT_TRUE(entropy.status.ok()) << entropy.status.error_message();
  EXPECT_EQ(List(entropy.header.shape()), Ints({2, 4, 2, 1}));
  EXPECT_EQ(entropy.header.key_columns_size(), 0);
  ASSERT_EQ(entropy.tiles.size(), 8u);
  EXPECT_EQ(Shape(entropy.tiles[0].weights()), Ints({2}));
  double expected = 0;
  for (int key = 0; key < 3; ++key) {
    const double p = FakeWeight(1, 2, 2, key, 3);
    expected -= p * std::log(p);
  }
  EXPECT_FLOAT_EQ(DecodeTensor(entropy.tiles[6].weights())[0], expected);
  const AttentionAnswer distance = Ask(
      "input { text: 'a' } reduction: ATTENTION_REDUCTION_MEAN_DISTANCE type: TENSOR_TYPE_UINT8");
  EXPECT_NEAR(DecodeTensor(distance.tiles[6].weights())[0],
              FakeWeight(1, 2, 0, 1, 3) + 2 * FakeWeight(1, 2, 0, 2, 3), 1e-6);
}

TEST_F(ServiceAttentionTest, RolloutAndFlowAreOneMatrix) {
  const AttentionAnswer rollout =
      Ask("input { text: 'a b' } reduction: ATTENTION_REDUCTION_ROLLOUT layers { indices: [1, 0] } "
          "query_rows { indices: [3, 1] }");
  ASSERT_TRUE(rollout.status.ok()) << rollout.status.error_message();
  EXPECT_EQ(List(rollout.header.shape()), Ints({1, 1, 2, 4}));
  EXPECT_EQ(List(rollout.header.layers()), Ints({0, 1}));
  ASSERT_EQ(rollout.tiles.size(), 1u);
  EXPECT_EQ(rollout.tiles[0].layer(), 1u);
  FakeAttentionSource source({0, {0, 1}, {0, 1, 2, 3}, AttentionForm::kMeanHeads}, 4,
                             std::make_shared<FakeReads>());
  const std::vector<float> expected = source.Rollout({3, 1})->weights;
  EXPECT_EQ(DecodeTensor(rollout.tiles[0].weights()),
            std::vector<double>(expected.begin(), expected.end()));
  const AttentionAnswer flow =
      Ask("input { text: 'a b' } reduction: ATTENTION_REDUCTION_FLOW top_k: 1");
  ASSERT_TRUE(flow.status.ok()) << flow.status.error_message();
  EXPECT_EQ(flow.tiles[0].columns_size(), 4);
}

TEST_F(ServiceAttentionTest, PairsAndTokenModelsAnswerToo) {
  const AttentionAnswer pair = Ask("model { name: 'pairs' } input { text: 'a' text_pair: 'bb' }");
  ASSERT_TRUE(pair.status.ok());
  EXPECT_EQ(pair.header.tokens(3).segment(), 1u);
  const AttentionAnswer tokens = Ask("model { name: 'tokens' } input { text: 'one' }");
  ASSERT_TRUE(tokens.status.ok());
  EXPECT_EQ(tokens.header.classification().entities_size(), 1);
}

TEST_F(ServiceAttentionTest, MapsOfAnySizeComeInMessagesBelowOneMiB) {
  for (const char* options :
       {"heads { indices: 1 } layers { indices: 0 }",
        "heads { indices: 1 } layers { indices: 0 } top_k: 400",
        "heads { indices: 1 } layers { indices: 0 } type: TENSOR_TYPE_UINT8"}) {
    const AttentionAnswer answer = Ask(LongRequest(1200, options));
    ASSERT_TRUE(answer.status.ok()) << answer.status.error_message();
    EXPECT_LE(answer.largest_message, size_t{1} << 20) << options;
    EXPECT_GT(answer.tiles.size(), 1u);
    uint64_t bytes = 0;
    uint32_t row = 0;
    for (const v1::AttentionTile& tile : answer.tiles) {
      EXPECT_EQ(tile.first_row(), row);
      row += static_cast<uint32_t>(tile.weights().shape(0));
      bytes += tile.weights().data().size();
    }
    EXPECT_EQ(row, 1200u);
    EXPECT_EQ(bytes, answer.header.total_bytes());
    // The last row's last weight is where it belongs.
    if (answer.header.shape(3) == 1200 && answer.header.type() == v1::TENSOR_TYPE_FLOAT32) {
      EXPECT_FLOAT_EQ(DecodeTensor(answer.tiles.back().weights()).back(),
                      FakeWeight(0, 1, 1199, 1199, 1200));
    }
  }
}

TEST_F(ServiceAttentionTest, FewColumnsOfALongTextAreReadInParts) {
  const AttentionAnswer answer = Ask(
      LongRequest(1200, "heads { indices: 1 } layers { indices: 0 } key_columns { indices: 7 }"));
  ASSERT_EQ(answer.tiles.size(), 1u);
  EXPECT_LE(long_->reads().largest() * sizeof(float), size_t{1} << 20);
  EXPECT_FLOAT_EQ(DecodeTensor(answer.tiles[0].weights())[1000], FakeWeight(0, 1, 1000, 7, 1200));
}

TEST_F(ServiceAttentionTest, PositionOverridesReachTheModel) {
  const char* const text = "input { text: 'a' } ";
  ASSERT_TRUE(Ask(absl::StrCat(text, "position_override { offset: 5 }")).status.ok());
  EXPECT_EQ(plain_->batches().back().positions, Ints({5, 6, 7}));
  ASSERT_TRUE(Ask(absl::StrCat(text, "position_override { disabled: true }")).status.ok());
  EXPECT_FALSE(plain_->batches().back().has_positions(0));
  ASSERT_TRUE(Ask(absl::StrCat(text, "position_override { positions { positions: [2, 2, 0] } }"))
                  .status.ok());
  EXPECT_EQ(plain_->batches().back().positions, Ints({2, 2, 0}));
}

TEST_F(ServiceAttentionTest, BadRequestsNameTheirField) {
  plain_->mutable_info().position_limit = 16;
  const struct {
    const char* request;
    const char* reason;
    const char* field;
  } cases[] = {
      {"", "EMPTY_INPUTS", "input"},
      {"input { text: 'a' text_pair: 'b' }", "PAIR_NOT_SUPPORTED", "input.text_pair"},
      {"input { text: 'a a a a a a a a a a a a a a a' }", "TOO_MANY_TOKENS", "input.text"},
      {"input { text: 'a' } layers { indices: [0, 1, 2] }", "INDEX_OUT_OF_RANGE",
       "layers.indices[2]"},
      {"input { text: 'a' } query_rows { ranges { start: 3 end: 3 } }", "INDEX_OUT_OF_RANGE",
       "query_rows.ranges[0].start"},
      {"input { text: 'a' } top_k: 4", "TOP_K_TOO_LARGE", "top_k"},
      {"input { text: 'a' } reduction: ATTENTION_REDUCTION_ENTROPY top_k: 1",
       "NO_COLUMNS_TO_CHOOSE", "top_k"},
      {"input { text: 'a' } reduction: 9", "UNKNOWN_ENUM_VALUE", "reduction"},
      {"input { text: 'a' } type: 9", "UNKNOWN_ENUM_VALUE", "type"},
      {"input { text: 'a' } long_text_policy: 9", "UNKNOWN_ENUM_VALUE", "long_text_policy"},
      {"input { text: 'a' } position_override { offset: 14 }", "POSITION_OUT_OF_RANGE",
       "position_override.offset"},
      {"input { text: 'a' } position_override { positions { positions: 0 } }", "POSITION_COUNT",
       "position_override.positions.positions"},
  };
  for (const auto& c : cases) {
    const Error error = Read(Ask(c.request).status);
    EXPECT_EQ(error.code, grpc::StatusCode::INVALID_ARGUMENT) << c.request;
    EXPECT_EQ(error.reason, c.reason) << c.request;
    EXPECT_EQ(error.fields, std::vector<std::string>({c.field})) << c.request;
  }
  const Error flow = Read(Ask(LongRequest(65, "reduction: ATTENTION_REDUCTION_FLOW")).status);
  EXPECT_EQ(flow.reason, "TOO_MANY_TOKENS_FOR_FLOW");
  EXPECT_EQ(flow.metadata.at("limit"), "64");
  EXPECT_EQ(Read(Ask("model { name: 'nobody' }").status).code, grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(Read(Ask("input { text: 'a' } long_text_policy: LONG_TEXT_POLICY_CHUNK").status).code,
            grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_TRUE(plain_->batches().empty());
}

TEST_F(ServiceAttentionTest, ModelWithoutAttentionIsAFailedPrecondition) {
  const Error error = Read(Ask("model { name: 'blind' } input { text: 'a' }").status);
  EXPECT_EQ(error.code, grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(error.reason, "NO_ATTENTION");
}

TEST_F(ServiceAttentionTest, FailedComputeGivesItsMemoryBack) {
  plain_->SetBehaviour([](const RaggedBatch&) -> absl::StatusOr<RunOutput> {
    return absl::ResourceExhaustedError("no memory");
  });
  EXPECT_EQ(Ask("input { text: 'a' }").status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(HasMetric("heed_attention_reserved_bytes 0"));
  EXPECT_TRUE(HasMetric("heed_attention_streams_active 0"));
}

}  // namespace
}  // namespace heed
