// What the tests of architectures share: configurations with one thing changed, and refusals.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "model/api/error.h"
#include "model/checkpoint/json.h"
#include "model/checkpoint/model_config.h"

namespace heed {

// The configuration of a reference model.
inline nlohmann::json GoldenConfig(const std::string& name) {
  const auto config = ReadJsonFile("tests/golden/" + name + "/config.json");
  if (!config.ok()) throw std::runtime_error(std::string(config.status().message()));
  return *config;
}

inline nlohmann::json With(nlohmann::json config, const std::string& field,
                           const nlohmann::json& value) {
  config[field] = value;
  return config;
}

inline absl::StatusOr<ModelConfig> Parse(const nlohmann::json& config) {
  return ParseModelConfig(config.dump(), ConfigPurpose::kClassifier);
}

// The same; throws where the configuration is refused.
inline ModelConfig MustParse(const nlohmann::json& config) {
  const auto parsed = Parse(config);
  if (!parsed.ok()) throw std::runtime_error(std::string(parsed.status().message()));
  return *parsed;
}

// UNIMPLEMENTED or INVALID_ARGUMENT that names the field, and says `words`.
inline void ExpectRefused(const nlohmann::json& config, absl::StatusCode code,
                          const std::string& field, const std::string& words = "") {
  const absl::Status status = Parse(config).status();
  EXPECT_EQ(status.code(), code) << status << " for " << config;
  const ErrorDetail detail = GetErrorDetail(status);
  const auto named = detail.metadata.find("field");
  EXPECT_EQ(named == detail.metadata.end() ? "" : named->second, field) << status;
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("\"" + field + "\""));
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr(words));
}

inline bool operator==(const EncodingConfig& a, const EncodingConfig& b) {
  return a.name == b.name && a.options == b.options && a.layers == b.layers;
}

}  // namespace heed
