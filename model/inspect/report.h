// What was loaded from a model folder, for people and for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "model/engine.h"

namespace heed {

// Loads the folder as a server would, and reports
//   architecture, version, task, labels, precision;
//   positional_encodings: name, options and layers (null: all) of each;
//   attention_patterns: name, options and layers (null: all) of each that some layer has;
//   sizes: layers, heads, key_value_heads, head_size, hidden_size, intermediate_size, vocabulary;
//   limits: max_tokens (null: none), segments, pairs;
//   parts: name, parameters and bytes in memory of each part; parameters, bytes: of all;
//   notes: what a person should know of the load.
// Errors as for LoadModel.
absl::StatusOr<nlohmann::json> InspectModel(const std::string& path, const LoadOptions& options);

// The same as lines of text.
std::string FormatReport(const nlohmann::json& report);

}  // namespace heed
