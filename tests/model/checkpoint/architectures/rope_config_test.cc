#include "model/checkpoint/architectures/rope_config.h"

#include <cmath>
#include <string>

#include "tests/model/checkpoint/architectures/parse.h"

namespace heed {
namespace {

using nlohmann::json;
using testing::HasSubstr;

struct Read {
  absl::Status status;
  EncodingConfig encoding;
  int64_t max_tokens = 0;
};

// A model of width 32 with 4 heads, made for 64 positions.
Read ReadFrom(const json& object) {
  ConfigFields fields(object);
  ModelConfig config;
  config.hidden_size = 32;
  config.head_count = 4;
  config.position_count = 64;
  Read read;
  read.encoding = ReadRope(fields, 10000, config);
  fields.RefuseUnread();
  read.status = fields.status();
  read.max_tokens = config.max_tokens;
  return read;
}

EncodingConfig Encoding(const json& object) {
  const Read read = ReadFrom(object);
  EXPECT_TRUE(read.status.ok()) << read.status << " for " << object;
  return read.encoding;
}

double Option(const EncodingConfig& encoding, const std::string& name) {
  const auto found = encoding.options.find(name);
  return found == encoding.options.end() ? NAN : std::stod(found->second);
}

// In the old form the base stands beside rope_scaling, in the new one both are one dictionary.
TEST(RopeConfigTest, OldAndNewFormsSayTheSame) {
  const json scalings[] = {
      {{"rope_type", "default"}},
      {{"rope_type", "linear"}, {"factor", 2.5}},
      {{"rope_type", "dynamic"}, {"factor", 4}},
      {{"rope_type", "yarn"},
       {"factor", 4.0},
       {"attention_factor", 1.1},
       {"beta_fast", 4.0},
       {"beta_slow", 0.5},
       {"mscale", 0.7},
       {"mscale_all_dim", 0.9},
       {"truncate", false},
       {"original_max_position_embeddings", 16}},
      {{"rope_type", "llama3"},
       {"factor", 8.0},
       {"low_freq_factor", 1.0},
       {"high_freq_factor", 4.0},
       {"original_max_position_embeddings", 16}},
  };
  for (const json& scaling : scalings) {
    json parameters = scaling;
    parameters["rope_theta"] = 5000;
    const EncodingConfig fresh = Encoding({{"rope_parameters", parameters}});
    EXPECT_EQ(fresh.name, "rope");
    EXPECT_EQ(Option(fresh, "base"), 5000);
    EXPECT_TRUE(fresh == Encoding({{"rope_theta", 5000}, {"rope_scaling", scaling}})) << scaling;
    json older = scaling;  // before 4.45 the type had another name
    older["type"] = older["rope_type"];
    older.erase("rope_type");
    EXPECT_TRUE(fresh == Encoding({{"rope_theta", 5000}, {"rope_scaling", older}})) << scaling;
    // A file may carry both forms when they agree.
    EXPECT_TRUE(fresh == Encoding({{"rope_theta", 5000},
                                   {"rope_scaling", parameters},
                                   {"rope_parameters", parameters}}));
  }
  EXPECT_TRUE(Encoding({{"rope_theta", 5000}}) ==
              Encoding({{"rope_parameters", {{"rope_theta", 5000}}}}));
  EXPECT_TRUE(Encoding({{"rope_theta", 10000}, {"rope_scaling", nullptr}}) == Encoding({}));
}

TEST(RopeConfigTest, EveryParameterOfTheTypeIsPassedOn) {
  const EncodingConfig yarn = Encoding({{"rope_parameters",
                                         {{"rope_type", "yarn"},
                                          {"rope_theta", 1e6},
                                          {"factor", 3.0},
                                          {"attention_factor", 1.25},
                                          {"beta_fast", 30.5},
                                          {"beta_slow", 0.75},
                                          {"mscale", 0.5},
                                          {"mscale_all_dim", 0.25},
                                          {"truncate", false},
                                          {"original_max_position_embeddings", 16},
                                          // Of another type, which leaves it unread.
                                          {"low_freq_factor", 9}}}});
  EXPECT_EQ(yarn.options.size(), 10);
  EXPECT_EQ(yarn.options.at("scaling"), "yarn");
  EXPECT_EQ(Option(yarn, "base"), 1e6);
  EXPECT_EQ(Option(yarn, "factor"), 3);
  EXPECT_EQ(Option(yarn, "attention_factor"), 1.25);
  EXPECT_EQ(Option(yarn, "beta_fast"), 30.5);
  EXPECT_EQ(Option(yarn, "beta_slow"), 0.75);
  EXPECT_EQ(Option(yarn, "mscale"), 0.5);
  EXPECT_EQ(Option(yarn, "mscale_all_dim"), 0.25);
  EXPECT_EQ(Option(yarn, "original_max_positions"), 16);
  EXPECT_EQ(yarn.options.at("truncate"), "false");
  const EncodingConfig llama = Encoding({{"rope_parameters",
                                          {{"rope_type", "llama3"},
                                           {"factor", 8},
                                           {"low_freq_factor", 1.5},
                                           {"high_freq_factor", 4.5},
                                           {"original_max_position_embeddings", 16}}}});
  EXPECT_EQ(llama.options.size(), 6);
  EXPECT_EQ(Option(llama, "low_freq_factor"), 1.5);
  EXPECT_EQ(Option(llama, "high_freq_factor"), 4.5);
}

// A base is read back to the last bit.
TEST(RopeConfigTest, NumbersKeepEveryDigit) {
  const double theta = 10000.1;
  EXPECT_EQ(Option(Encoding({{"rope_theta", theta}}), "base"), theta);
}

TEST(RopeConfigTest, PartialFactorLeavesDimensionsUnturned) {
  EXPECT_EQ(Option(Encoding({{"partial_rotary_factor", 0.5}}), "dims"), 4);
  EXPECT_EQ(Option(Encoding({{"rope_parameters", {{"partial_rotary_factor", 0.25}}}}), "dims"), 2);
  EXPECT_FALSE(Encoding({{"partial_rotary_factor", 1}}).options.contains("dims"));
}

// Dynamic scaling is made for any length.
TEST(RopeConfigTest, TypeDecidesTheLongestText) {
  EXPECT_EQ(ReadFrom(json::object()).max_tokens, 64);
  EXPECT_EQ(ReadFrom({{"rope_scaling", {{"type", "linear"}, {"factor", 2}}}}).max_tokens, 64);
  EXPECT_EQ(ReadFrom({{"rope_scaling", {{"type", "dynamic"}, {"factor", 2}}}}).max_tokens, 0);
}

TEST(RopeConfigTest, UnknownTypeIsRefusedByName) {
  for (const char* const form : {"rope_parameters", "rope_scaling"}) {
    for (const char* const key : {"type", "rope_type"}) {
      const absl::Status status = ReadFrom({{form, {{key, "longrope"}, {"factor", 2}}}}).status;
      EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented) << status;
      EXPECT_THAT(std::string(status.message()), HasSubstr("\"longrope\""));
      EXPECT_EQ(GetErrorDetail(status).metadata.at("field"), form);
    }
  }
}

TEST(RopeConfigTest, ContradictionsAreRefused) {
  const json linear = {{"rope_type", "linear"}, {"factor", 2}};
  const json yarn = {{"rope_type", "yarn"}, {"factor", 2}};
  const std::vector<std::pair<std::string, json>> configs = {
      {"rope_scaling", {{"rope_scaling", linear}, {"rope_parameters", yarn}}},
      {"rope_theta", {{"rope_theta", 500}, {"rope_parameters", {{"rope_theta", 10000}}}}},
      {"partial_rotary_factor",
       {{"partial_rotary_factor", 0.5}, {"rope_parameters", {{"partial_rotary_factor", 1}}}}},
      {"rope_scaling",
       {{"rope_scaling", {{"type", "linear"}, {"rope_type", "dynamic"}, {"factor", 2}}}}},
  };
  for (const auto& [field, config] : configs) {
    const absl::Status status = ReadFrom(config).status;
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << config;
    EXPECT_EQ(GetErrorDetail(status).metadata["field"], field) << status;
  }
}

TEST(RopeConfigTest, BadValuesAreRefused) {
  const std::pair<std::string, json> configs[] = {
      {"rope_parameters", {{"rope_parameters", "default"}}},
      {"rope_parameters", {{"rope_parameters", {{"rope_theta", 0}}}}},
      {"rope_parameters", {{"rope_parameters", {{"rope_theta", "10000"}}}}},
      {"rope_parameters", {{"rope_parameters", {{"rope_type", 5}}}}},
      {"rope_scaling", {{"rope_scaling", {{"type", "linear"}}}}},
      {"rope_scaling", {{"rope_scaling", {{"type", "linear"}, {"factor", "2"}}}}},
      {"rope_scaling", {{"rope_scaling", {{"type", "yarn"}, {"factor", 2}, {"beta_fast", "32"}}}}},
      {"rope_scaling", {{"rope_scaling", {{"type", "yarn"}, {"factor", 2}, {"truncate", 1}}}}},
      {"rope_theta", {{"rope_theta", 0}}},
      {"rope_theta", {{"rope_theta", "10000"}}},
  };
  for (const auto& [field, config] : configs) {
    const absl::Status status = ReadFrom(config).status;
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << config;
    EXPECT_EQ(GetErrorDetail(status).metadata["field"], field) << status;
  }
}

}  // namespace
}  // namespace heed
