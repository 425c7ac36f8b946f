#include "model/checkpoint/model_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "model/api/error.h"

namespace heed {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

json Bert() {
  return {{"model_type", "bert"},
          {"architectures", {"BertForSequenceClassification"}},
          {"hidden_size", 40},
          {"num_hidden_layers", 2},
          {"num_attention_heads", 5},
          {"intermediate_size", 80},
          {"vocab_size", 312},
          {"type_vocab_size", 2},
          {"max_position_embeddings", 44},
          {"layer_norm_eps", 1e-5},
          {"hidden_act", "gelu"}};
}

json With(const std::string& field, const json& value) {
  json config = Bert();
  config[field] = value;
  return config;
}

absl::StatusOr<ModelConfig> Parse(const json& config,
                                  ConfigPurpose purpose = ConfigPurpose::kClassifier) {
  return ParseModelConfig(config.dump(), purpose);
}

void ExpectRefused(const json& config, absl::StatusCode code, const std::string& reason,
                   const std::string& field) {
  const absl::Status status = Parse(config).status();
  EXPECT_EQ(status.code(), code) << status << " for " << config;
  const ErrorDetail detail = GetErrorDetail(status);
  EXPECT_EQ(detail.reason, reason) << status;
  const auto named = detail.metadata.find("field");
  EXPECT_EQ(named == detail.metadata.end() ? "" : named->second, field) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("\"" + field + "\""));
}

TEST(ModelConfigTest, ReadsBert) {
  const auto config = Parse(Bert());
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->architecture, "bert");
  EXPECT_EQ(config->hidden_size, 40);
  EXPECT_EQ(config->layer_count, 2);
  EXPECT_EQ(config->head_count, 5);
  EXPECT_EQ(config->intermediate_size, 80);
  EXPECT_EQ(config->vocab_size, 312);
  EXPECT_EQ(config->segment_count, 2);
  EXPECT_EQ(config->position_count, 44);
  EXPECT_DOUBLE_EQ(config->norm_eps, 1e-5);
  EXPECT_EQ(config->activation, "gelu");
  ASSERT_EQ(config->encodings.size(), 1);
  EXPECT_EQ(config->encodings[0].name, "learned");
  ASSERT_EQ(config->patterns.size(), 1);
  EXPECT_EQ(config->patterns[0].name, "dense");
  EXPECT_EQ(config->head.pooling, Pooling::kFirst);
  EXPECT_EQ(config->head.dense, "pooler.dense");
  EXPECT_EQ(config->head.dense_activation, "tanh");
  EXPECT_THAT(config->labels, ElementsAre("LABEL_0", "LABEL_1"));
}

TEST(ModelConfigTest, LabelsAreOrderedByNumber) {
  json labels;
  for (int i = 0; i < 12; ++i) labels[std::to_string(i)] = "label " + std::to_string(i);
  const auto config = Parse(With("id2label", labels));  // as strings, "10" comes before "2"
  ASSERT_TRUE(config.ok()) << config.status();
  ASSERT_EQ(config->labels.size(), 12);
  for (int i = 0; i < 12; ++i) EXPECT_EQ(config->labels[i], "label " + std::to_string(i));
}

TEST(ModelConfigTest, BadLabels) {
  for (const json& labels : {json{{"0", "a"}, {"2", "b"}}, json{{"a", "b"}}, json{{"0", 1}},
                             json{{"00", "a"}}, json{{"-1", "a"}}, json::object(), json::array()}) {
    ExpectRefused(With("id2label", labels), absl::StatusCode::kInvalidArgument, "BAD_CONFIG_FIELD",
                  "id2label");
  }
  json config = With("id2label", {{"0", "a"}, {"1", "b"}});
  config["num_labels"] = 3;
  ExpectRefused(config, absl::StatusCode::kInvalidArgument, "BAD_CONFIG_FIELD", "num_labels");
}

TEST(ModelConfigTest, NumLabelsAlone) {
  const auto config = Parse(With("num_labels", 3));
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_THAT(config->labels, ElementsAre("LABEL_0", "LABEL_1", "LABEL_2"));
}

TEST(ModelConfigTest, ScoreFunctionFollowsTheProblem) {
  const json one = {{"0", "a"}};
  const json two = {{"0", "a"}, {"1", "b"}};
  const auto function = [](const json& labels, const json& problem) {
    json config = With("id2label", labels);
    config["problem_type"] = problem;
    const auto parsed = Parse(config);
    EXPECT_TRUE(parsed.ok()) << parsed.status();
    return parsed->score_function;
  };
  EXPECT_EQ(function(two, nullptr), ScoreFunction::kSoftmax);
  EXPECT_EQ(function(one, nullptr), ScoreFunction::kSigmoid);
  EXPECT_EQ(function(two, "single_label_classification"), ScoreFunction::kSoftmax);
  EXPECT_EQ(function(one, "single_label_classification"), ScoreFunction::kSigmoid);
  EXPECT_EQ(function(two, "multi_label_classification"), ScoreFunction::kSigmoid);
  EXPECT_EQ(function(one, "regression"), ScoreFunction::kIdentity);
  EXPECT_EQ(function(two, "regression"), ScoreFunction::kIdentity);
  ExpectRefused(With("problem_type", "ranking"), absl::StatusCode::kInvalidArgument,
                "BAD_CONFIG_FIELD", "problem_type");
}

TEST(ModelConfigTest, RefusesWhatItCannotCompute) {
  const std::vector<std::pair<std::string, json>> fields = {
      {"model_type", "gpt2"},
      {"position_embedding_type", "rotary"},
      {"is_decoder", true},
      {"is_encoder_decoder", true},
      {"add_cross_attention", true},
      {"pruned_heads", {{"0", {1}}}},
      {"quantization_config", {{"bits", 4}}},
      {"auto_map", {{"AutoModel", "x.Y"}}},
      {"hidden_act", "gelu_10"},
      {"architectures", {"BertForQuestionAnswering"}},
      {"architectures", {"BertModel"}},
  };
  for (const auto& [field, value] : fields) {
    ExpectRefused(With(field, value), absl::StatusCode::kUnimplemented, "UNSUPPORTED_CONFIG",
                  field);
  }
}

TEST(ModelConfigTest, RefusesAFieldItDoesNotKnow) {
  ExpectRefused(With("residual_scale", 0.5), absl::StatusCode::kUnimplemented,
                "UNKNOWN_CONFIG_FIELD", "residual_scale");
  EXPECT_TRUE(Parse(With("residual_scale", nullptr)).ok());
}

// A second way of telling positions is refused together with what decided the first.
TEST(ModelConfigTest, RefusesASecondPositionalEncoding) {
  for (const auto& [field, encoding] :
       {std::pair("alibi", "alibi"), std::pair("alibi_starting_size", "alibi"),
        std::pair("rope_theta", "rope"), std::pair("relative_attention_num_buckets", "t5_bias"),
        std::pair("relative_attention", "disentangled"),
        std::pair("sinusoidal_pos_embds", "sinusoidal")}) {
    json config = With(field, 1);
    ExpectRefused(config, absl::StatusCode::kUnimplemented, "UNSUPPORTED_CONFIG", field);
    EXPECT_THAT(std::string(Parse(config).status().message()), HasSubstr("field \"model_type\""));
    for (const auto& [type, first] :
         {std::pair("absolute", "\"learned\""), std::pair("relative_key", "\"shaw\"")}) {
      config["position_embedding_type"] = type;
      ExpectRefused(config, absl::StatusCode::kUnimplemented, "UNSUPPORTED_CONFIG", field);
      const std::string message(Parse(config).status().message());
      EXPECT_THAT(message, HasSubstr("field \"position_embedding_type\""));
      EXPECT_THAT(message, HasSubstr(std::string("\"") + encoding + "\""));
      EXPECT_THAT(message, HasSubstr(first));
    }
  }
  EXPECT_TRUE(Parse(With("alibi", nullptr)).ok());
}

TEST(ModelConfigTest, PositionTypes) {
  const auto encoding = [](const char* type) {
    const auto config = Parse(With("position_embedding_type", type));
    EXPECT_TRUE(config.ok()) << config.status();
    EXPECT_EQ(config->encodings.size(), 1);
    return config->encodings[0];
  };
  EXPECT_EQ(encoding("absolute").name, "learned");
  EXPECT_EQ(encoding("relative_key").name, "shaw");
  EXPECT_EQ(encoding("relative_key").options.at("sign"), "query_minus_key");
  EXPECT_EQ(encoding("relative_key_query").name, "relative_key_query");
}

TEST(ModelConfigTest, PositionOverflow) {
  const auto options = [](const json& overflow) {
    const auto config = Parse(With("position_overflow", overflow));
    EXPECT_TRUE(config.ok()) << config.status();
    return config->encodings[0].options;
  };
  EXPECT_TRUE(options(nullptr).empty());
  EXPECT_TRUE(options("error").empty());
  EXPECT_EQ(options("interpolate").at("beyond"), "interpolate");
  ExpectRefused(With("position_overflow", "clamp"), absl::StatusCode::kInvalidArgument,
                "BAD_CONFIG_FIELD", "position_overflow");
}

TEST(ModelConfigTest, TokenClassification) {
  json config = With("architectures", {"BertForTokenClassification"});
  config["problem_type"] = "multi_label_classification";
  const auto parsed = Parse(config);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->head.pooling, Pooling::kTokens);
  EXPECT_EQ(parsed->head.dense, "");
  EXPECT_EQ(parsed->task, "token_classification");
  EXPECT_EQ(parsed->score_function, ScoreFunction::kSoftmax);
}

TEST(ModelConfigTest, AcceptsFieldsThatChangeNothing) {
  json config = Bert();
  config.update({{"_name_or_path", "x"},
                 {"torch_dtype", "bfloat16"},
                 {"dtype", "float32"},
                 {"transformers_version", "4.8.2"},
                 {"classifier_dropout", 0.1},
                 {"pad_token_id", 0},
                 {"pruned_heads", json::object()},
                 {"position_embedding_type", "absolute"},
                 {"is_decoder", false},
                 {"directionality", "bidi"},
                 {"pooler_type", "first_token_transform"},
                 {"label2id", {{"a", 0}}},
                 {"do_sample", false},
                 {"num_beams", 1},
                 {"gradient_checkpointing", false}});
  EXPECT_TRUE(Parse(config).ok()) << Parse(config).status();
}

TEST(ModelConfigTest, ChecksTypesAndRanges) {
  const std::vector<std::pair<std::string, json>> fields = {
      {"hidden_size", 0},        {"hidden_size", -40},
      {"hidden_size", "40"},     {"hidden_size", 40.0},
      {"hidden_size", 1e18},     {"hidden_size", 18446744073709551615U},
      {"hidden_size", nullptr},  {"num_attention_heads", 3},
      {"vocab_size", 1LL << 40}, {"num_hidden_layers", 100000},
      {"layer_norm_eps", -1},    {"layer_norm_eps", "1e-5"},
      {"is_decoder", "false"},   {"hidden_act", 3},
      {"architectures", "Bert"}, {"architectures", json::array()},
      {"model_type", 5},
  };
  for (const auto& [field, value] : fields) {
    ExpectRefused(With(field, value), absl::StatusCode::kInvalidArgument, "BAD_CONFIG_FIELD",
                  field);
  }
}

TEST(ModelConfigTest, MalformedJson) {
  for (const char* const text : {"", "[]", "3", "{\"model_type\": \"bert\", }"}) {
    EXPECT_EQ(GetErrorDetail(ParseModelConfig(text, ConfigPurpose::kClassifier).status()).reason,
              "MALFORMED_JSON")
        << text;
  }
}

TEST(ModelConfigTest, EncoderPurposeLeavesTheHeadAside) {
  const auto config = Parse(With("architectures", {"BertModel"}), ConfigPurpose::kEncoder);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->head.pooling, Pooling::kNone);
}

TEST(ModelConfigTest, MeanClassifier) {
  json config = With("architectures", {"HeedSentenceClassifier"});
  ExpectRefused(config, absl::StatusCode::kInvalidArgument, "BAD_CONFIG_FIELD",
                "classifier_pooling");
  config["classifier_pooling"] = "mean";
  config["head_file"] = "head.safetensors";
  const auto parsed = Parse(config);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->head.pooling, Pooling::kMean);
  EXPECT_EQ(parsed->head_file, "head.safetensors");
  // The same words mean nothing to a plain BERT classifier, so there they are refused.
  ExpectRefused(With("classifier_pooling", "mean"), absl::StatusCode::kUnimplemented,
                "UNKNOWN_CONFIG_FIELD", "classifier_pooling");
}

}  // namespace
}  // namespace heed
