// How configurations of transformers, 4.x and 5.x, write down rotary positions.
#pragma once

#include <nlohmann/json.hpp>

#include "absl/strings/string_view.h"
#include "model/checkpoint/config_fields.h"
#include "model/checkpoint/model_config.h"

namespace heed {

// rope_parameters (5.x), or rope_theta and rope_scaling (4.x), as a "rope" encoding. Also decides
// config.max_tokens: dynamic scaling is made for any length, the rest for max_position_embeddings.
// config.head_width() and position_count must be known.
EncodingConfig ReadRope(ConfigFields& fields, double default_theta, ModelConfig& config);

// One dictionary of rotary parameters; `field` names it in errors.
EncodingConfig ReadRopeParameters(ConfigFields& fields, absl::string_view field,
                                  const nlohmann::json& parameters, double theta,
                                  double partial_factor, ModelConfig& config);

// Refuses a `field` that says something else than the `parameter` of such a dictionary.
void RefuseContradiction(ConfigFields& fields, absl::string_view field,
                         const nlohmann::json& parameters, const char* parameter);

}  // namespace heed
