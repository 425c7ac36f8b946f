// Token classification the whole way: text in, entities out, by the server process and the client.
// What is right comes from transformers: the logits of tests/golden/bert_token_cls, made into
// entities by its pipeline (recipes/entities.py has the aggregation).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/client.h"
#include "client/rpc_error.h"
#include "model/checkpoint/safetensors.h"
#include "tests/integration/server_process.h"

namespace heed {
namespace {

using nlohmann::json;
using testing::CommandResult;
using ::testing::HasSubstr;
using testing::RunShell;
using testing::ServerProcess;

// Texts of the cases "maxlen" and "pair".
constexpr char kLong[] =
    "The quick queue hardly forgets every teacher unless the broken customer turns one screen... "
    "packet token";
constexpr char kFirst[] = "The never honest river turns";
constexpr char kSecond[] = "The broken";

struct Expected {
  const char* label;
  double score;
  int start;
  int end;
};

class TokenClassificationTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    server_ = ServerProcess::Start(
                  {"--model=ner=tests/golden/bert_token_cls", "--model=tiny=tests/golden/bert"})
                  .release();
  }
  static void TearDownTestSuite() {
    delete server_;
    server_ = nullptr;
  }
  void SetUp() override {
    ASSERT_NE(server_, nullptr);
    auto client = Client::Create(server_->address(), {});
    ASSERT_TRUE(client.ok()) << client.status();
    client_ = *std::move(client);
  }

  CommandResult Heed(const std::string& arguments) {
    return RunShell(absl::StrCat(HEED_PROGRAM, " --server ", server_->address(), " ", arguments));
  }

  static void Check(const json& entities, const std::vector<Expected>& expected) {
    ASSERT_GE(entities.size(), expected.size()) << entities;
    for (size_t i = 0; i < expected.size(); ++i) {
      SCOPED_TRACE(i);
      EXPECT_EQ(entities[i]["label"], expected[i].label);
      EXPECT_NEAR(entities[i]["score"].get<double>(), expected[i].score, 1e-4);
      EXPECT_EQ(entities[i]["start_char"], expected[i].start);
      EXPECT_EQ(entities[i]["end_char"], expected[i].end);
    }
  }

  static ServerProcess* server_;
  std::unique_ptr<Client> client_;
};
ServerProcess* TokenClassificationTest::server_ = nullptr;

TEST_F(TokenClassificationTest, EntitiesAreThoseOfTransformers) {
  const auto entities = [&](const std::string& flags) {
    const CommandResult result =
        Heed(absl::StrCat("classify --json ", flags, " '", std::string(kLong), "'"));
    EXPECT_EQ(result.exit_code, 0) << result.output;
    return json::parse(result.output)["entities"];
  };
  const json first = entities("--entities first");
  EXPECT_EQ(first.size(), 18u);
  Check(first, {{"PLACE", 0.434016, 0, 3},
                {"PLACE", 0.405055, 4, 9},
                {"PRODUCT", 0.321956, 10, 15},
                {"PLACE", 0.422360, 16, 22},
                {"PLACE", 0.507482, 23, 30},
                {"PLACE", 0.363401, 31, 36},
                {"PRODUCT", 0.380357, 37, 51}});
  EXPECT_EQ(first[6]["text"], "teacher unless");
  const json simple = entities("--entities simple");
  EXPECT_EQ(simple.size(), 34u);
  Check(simple, {{"PLACE", 0.434016, 0, 3},
                 {"PLACE", 0.405055, 4, 6},
                 {"PRODUCT", 0.403113, 6, 9},
                 {"PRODUCT", 0.321956, 10, 15}});
  EXPECT_EQ(entities(""), simple);
  const json none = entities("--entities none");
  EXPECT_EQ(none.size(), 40u);
  Check(none, {{"B-PLACE", 0.434016, 0, 3},
               {"B-PLACE", 0.405055, 4, 6},
               {"B-PRODUCT", 0.465918, 6, 8},
               {"I-PRODUCT", 0.340308, 8, 9}});
}

TEST_F(TokenClassificationTest, PairsAndLogits) {
  v1::ClassifyRequest request;
  request.add_inputs()->set_text("winter");  // shares the batch
  v1::TextInput* const input = request.add_inputs();
  input->set_text(kFirst);
  input->set_text_pair(kSecond);
  request.set_return_logits(true);
  const auto response = client_->Classify(request);
  ASSERT_TRUE(response.ok()) << response.status();
  const v1::Classification& result = response->results(1);
  ASSERT_EQ(result.entities_size(), 7);
  EXPECT_EQ(result.entities(0).segment(), 0u);
  EXPECT_EQ(result.entities(0).start_byte(), 6u);
  EXPECT_EQ(result.entities(0).end_byte(), 9u);
  EXPECT_NEAR(result.entities(0).score(), 0.312699, 1e-4);
  EXPECT_EQ(result.entities(3).segment(), 1u);
  EXPECT_EQ(result.entities(3).label(), "PLACE");
  EXPECT_EQ(result.entities(3).end_byte(), 3u);
  EXPECT_NEAR(result.entities(3).score(), 0.435038, 1e-4);

  const auto file = SafetensorsFile::Open("tests/golden/bert_token_cls/cases.safetensors");
  ASSERT_TRUE(file.ok()) << file.status();
  const TensorView golden = (*file)->tensors().at("pair.logits");
  const v1::Tensor& tensor = result.token_logits();
  ASSERT_EQ(tensor.shape_size(), 2);
  EXPECT_EQ(tensor.shape(0), 16);
  EXPECT_EQ(tensor.shape(1), 5);
  ASSERT_EQ(tensor.data().size(), golden.data.size());
  std::vector<float> ours(16 * 5);
  std::vector<float> theirs(16 * 5);
  std::memcpy(ours.data(), tensor.data().data(), tensor.data().size());
  std::memcpy(theirs.data(), golden.data.data(), golden.data.size());
  for (size_t i = 0; i < ours.size(); ++i) EXPECT_NEAR(ours[i], theirs[i], 1e-4) << i;
}

TEST_F(TokenClassificationTest, OffsetsAreThoseOfTheOriginalText) {
  const CommandResult result =
      Heed("classify --json --entities none 'caf\u00e9 \U0001f642 \u6771\u4eac \u00dcber'");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const json line = json::parse(result.output);
  const std::string text = line["text"];
  EXPECT_GE(line["entities"].size(), 4u);
  for (const json& entity : line["entities"]) {
    const size_t start = entity["start_byte"];
    const size_t end = entity["end_byte"];
    ASSERT_LT(start, end);
    ASSERT_LE(end, text.size());
    EXPECT_EQ(entity["text"], text.substr(start, end - start));
    // As many code points before as start_char says.
    const auto chars = std::count_if(text.begin(), text.begin() + static_cast<ptrdiff_t>(start),
                                     [](char c) { return (c & 0xc0) != 0x80; });
    EXPECT_EQ(entity["start_char"], chars);
  }
}

TEST_F(TokenClassificationTest, TheTableAndTheModel) {
  const CommandResult table = Heed(absl::StrCat("classify '", std::string(kLong), "' winter"));
  EXPECT_EQ(table.exit_code, 0) << table.output;
  EXPECT_THAT(table.output, HasSubstr("packet token  34 entities\n"
                                      "LABEL     SCORE   BYTES   CHARS  ENTITY\n"
                                      "PLACE    0.4340     0-3     0-3  The\n"));
  EXPECT_THAT(table.output, HasSubstr("\nwinter  1 entity\n"));
  EXPECT_EQ(json::parse(Heed("models --json ner").output)["task"], "token_classification");
}

TEST_F(TokenClassificationTest, WhatMakesNoSenseIsRefusedByName) {
  const CommandResult top_k = Heed("classify --top-k 1 winter");
  EXPECT_EQ(top_k.exit_code, 1);
  EXPECT_THAT(top_k.output, HasSubstr("top_k"));
  const CommandResult entities = Heed("classify --model tiny --entities first winter");
  EXPECT_EQ(entities.exit_code, 1);
  EXPECT_THAT(entities.output, HasSubstr("entity_aggregation"));
  v1::ClassifyRequest request;
  request.mutable_model()->set_name("tiny");
  request.add_inputs()->set_text("winter");
  request.set_entity_aggregation(v1::ENTITY_AGGREGATION_NONE);
  const absl::Status status = client_->Classify(request).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  const RpcErrorDetails details = GetRpcErrorDetails(status);
  EXPECT_EQ(details.reason, "ENTITIES_NOT_SUPPORTED");
  ASSERT_EQ(details.field_violations.size(), 1u);
  EXPECT_EQ(details.field_violations[0].field, "entity_aggregation");
}

}  // namespace
}  // namespace heed
