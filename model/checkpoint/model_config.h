// config.json as numbers an engine can be built from, independent of the architecture's own words.
// A field that would change the numbers and that Heed does not compute is an error that names it:
// better no answer than a wrong one.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "model/api/model_info.h"

namespace heed {

// How a text's token vectors become one vector.
enum class Pooling {
  kNone,        // no head
  kBertPooler,  // tanh(W x_0 + b)
  kMean,        // mean over the text's tokens
};

struct ModelConfig {
  std::string architecture;  // model_type
  int64_t hidden_size = 0;
  int64_t layer_count = 0;
  int64_t head_count = 0;
  int64_t intermediate_size = 0;
  int64_t vocab_size = 0;
  int64_t segment_count = 0;   // rows of the segment (token type) table
  int64_t position_count = 0;  // rows of the position table
  std::string activation;      // Hugging Face name, e.g. "gelu"
  double layer_norm_eps = 0;
  std::string positional_encoding;
  std::map<std::string, std::string> positional_options;

  Pooling pooling = Pooling::kNone;
  std::string head_file;  // file of the head's tensors, beside config.json; empty: none of its own
  std::vector<std::string> labels;  // in label-id order
  std::string task;
  ScoreFunction score_function = ScoreFunction::kSoftmax;
};

// What the folder is opened for.
enum class ConfigPurpose {
  kClassifier,  // the whole classifier; a model without a sequence head is refused
  kEncoder,     // only the encoder: any head is left aside
};

// Reads `path` (a config.json). Errors name the field and its value: NOT_FOUND without a file;
// INVALID_ARGUMENT (MALFORMED_JSON, BAD_CONFIG_FIELD) for one that is missing, of the wrong type or
// out of range; UNIMPLEMENTED (UNSUPPORTED_CONFIG, UNKNOWN_CONFIG_FIELD) for what Heed cannot
// compute.
absl::StatusOr<ModelConfig> ReadModelConfig(const std::string& path, ConfigPurpose purpose);

// The same from the file's content.
absl::StatusOr<ModelConfig> ParseModelConfig(absl::string_view content, ConfigPurpose purpose);

}  // namespace heed
