#include "client/render/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace heed::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ClassificationJsonTest : public ::testing::Test {
 protected:
  ClassificationJsonTest() {
    input_.set_text("héllo");
    response_.set_model_name("fake");
    response_.set_model_version("v1");
    v1::LabelScore* const label = result_.add_labels();
    label->set_label("positive");
    label->set_label_id(1);
    label->set_score(0.9f);
    result_.mutable_usage()->set_token_count(4);
    result_.mutable_usage()->set_original_token_count(4);
    result_.mutable_usage()->set_chunk_count(1);
    result_.mutable_timing()->mutable_queue()->set_nanos(1'500'000);
    result_.mutable_timing()->mutable_compute()->set_seconds(2);
  }
  std::string Json(bool with_text) const {
    return ClassificationJson({7, input_, result_, response_}, with_text);
  }

  v1::TextInput input_;
  v1::Classification result_;
  v1::ClassifyResponse response_;
};

TEST_F(ClassificationJsonTest, IsOneLineInAFixedOrder) {
  EXPECT_EQ(Json(true),
            R"({"index":7,"text":"héllo","labels":[{"label":"positive","label_id":1,"score":0.9}],)"
            R"("usage":{"token_count":4,"original_token_count":4,"truncated":false,)"
            R"("chunk_count":1},"timing":{"tokenize":0.0,"queue":0.0015,"compute":2.0,)"
            R"("serialize":0.0},"model":"fake","model_version":"v1"})");
}

TEST_F(ClassificationJsonTest, EntitiesReplaceLabels) {
  result_.clear_labels();
  v1::Entity* const entity = result_.add_entities();
  entity->set_label("X");
  entity->set_score(0.9f);
  entity->set_start_byte(1);
  entity->set_end_byte(3);
  entity->set_start_char(1);
  entity->set_end_char(2);
  EXPECT_THAT(Json(true),
              HasSubstr(R"("text":"héllo","entities":[{"label":"X","score":0.9,"start_byte":1,)"
                        R"("end_byte":3,"start_char":1,"end_char":2,"segment":0,"text":"é"}],)"
                        R"("usage")"));
  EXPECT_THAT(Json(false), HasSubstr(R"("segment":0}],"usage")"));
}

TEST_F(ClassificationJsonTest, TokenLogitsAreALittleEndianMatrix) {
  result_.clear_labels();
  v1::Tensor* const logits = result_.mutable_token_logits();
  logits->set_type(v1::TENSOR_TYPE_FLOAT32);
  logits->add_shape(2);
  logits->add_shape(1);
  logits->set_data(std::string("\0\0\0\x3f\0\0\xc0\xbf", 8));
  EXPECT_THAT(Json(false), HasSubstr(R"("token_logits":[[0.5],[-1.5]])"));
  // What is no such matrix is left out rather than misread.
  for (const int64_t columns : {int64_t{0}, int64_t{-1}, int64_t{3}, int64_t{1} << 62}) {
    logits->set_shape(1, columns);
    EXPECT_THAT(Json(false), HasSubstr(R"("token_logits":[])")) << columns;
  }
}

TEST_F(ClassificationJsonTest, TextAndPairAreOptional) {
  input_.set_text_pair("");
  EXPECT_EQ(nlohmann::json::parse(Json(true)).at("text_pair"), "");
  EXPECT_FALSE(nlohmann::json::parse(Json(false)).contains("text"));
  EXPECT_FALSE(nlohmann::json::parse(Json(false)).contains("text_pair"));
}

TEST_F(ClassificationJsonTest, FloatsComeBackExactly) {
  for (const float value : {0.1f, 1.0f / 3, 1e-30f, 3.4028235e38f, -0.0f, 16777216.0f}) {
    result_.clear_logits();
    result_.add_logits(value);
    const auto json = nlohmann::json::parse(Json(false));
    EXPECT_EQ(json.at("logits").at(0).get<float>(), value);
  }
}

TEST_F(ClassificationJsonTest, WhatIsNotFiniteIsNull) {
  result_.add_logits(NAN);
  result_.add_logits(INFINITY);
  EXPECT_THAT(Json(false), HasSubstr(R"("logits":[null,null])"));
}

TEST_F(ClassificationJsonTest, ControlCharactersAreEscapedAndComeBack) {
  const std::string text = "\x1b[2J\x7f\u009b\u202e\u2066\u2028é\u00a0\u2010";
  input_.set_text(text);
  const std::string line = Json(true);
  EXPECT_THAT(line, HasSubstr(R"(\u001b[2J\u007f\u009b\u202e\u2066\u2028é)"));
  for (const char* raw : {"\x1b", "\x7f", "\u009b", "\u202e", "\u2066", "\u2028"}) {
    EXPECT_THAT(line, Not(HasSubstr(raw)));
  }
  EXPECT_EQ(nlohmann::json::parse(line).at("text"), text);
}

TEST(ModelJsonTest, NumbersAreNumbers) {
  v1::Model model;
  model.set_name("m");
  model.set_weights_bytes(5'000'000'000);
  model.add_labels("a");
  const auto json = nlohmann::json::parse(ModelJson(model));
  EXPECT_EQ(json.at("weights_bytes"), 5'000'000'000);
  EXPECT_EQ(json.at("labels"), nlohmann::json::array({"a"}));
}

TEST(TokenizedJsonTest, GivesBothOffsets) {
  v1::TextInput input;
  input.set_text("é!");
  v1::TokenizedText result;
  v1::Token* const token = result.add_tokens();
  token->set_piece("é");
  token->set_id(5);
  token->set_end_byte(2);
  token->set_end_char(1);
  EXPECT_THAT(TokenizedJson(3, input, result),
              HasSubstr(R"("tokens":[{"piece":"é","id":5,"start_byte":0,"end_byte":2,)"
                        R"("start_char":0,"end_char":1,"segment":0,"special":false}])"));
}

}  // namespace
}  // namespace heed::cli
