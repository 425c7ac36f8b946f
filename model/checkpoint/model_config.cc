#include "model/checkpoint/model_config.h"

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "model/api/error.h"
#include "model/checkpoint/architectures/architecture.h"
#include "model/checkpoint/config_fields.h"
#include "model/checkpoint/json.h"

namespace heed {
namespace {

// Fields by which configurations ask for a positional encoding, and the one they ask for.
const std::map<std::string, std::string, std::less<>>& EncodingFields() {
  static const auto* const fields = new std::map<std::string, std::string, std::less<>>{
      {"alibi", "alibi"},
      {"use_alibi", "alibi"},
      {"alibi_bias_max", "alibi"},
      {"alibi_starting_size", "alibi"},
      {"rope_theta", "rope"},
      {"rope_scaling", "rope"},
      {"rope_parameters", "rope"},
      {"global_rope_theta", "rope"},
      {"local_rope_theta", "rope"},
      {"rotary_dim", "rope"},
      {"rotary_emb_base", "rope"},
      {"rotary_emb_fraction", "rope"},
      {"partial_rotary_factor", "rope"},
      {"relative_attention_num_buckets", "t5_bias"},
      {"relative_attention_max_distance", "t5_bias"},
      {"relative_attention", "disentangled"},
      {"max_relative_positions", "disentangled"},
      {"pos_att_type", "disentangled"},
      {"position_buckets", "disentangled"},
      {"sinusoidal_pos_embds", "sinusoidal"},
      {"position_embedding_type", "another"},
      {"positional_encoding", "another"},
  };
  return *fields;
}

// An encoder has one way of telling positions: a field that the architecture did not read and that
// asks for another is refused together with what decided the first.
void RefuseSecondEncoding(ConfigFields& fields, const ModelConfig& config) {
  if (!fields.status().ok()) return;
  std::vector<std::string> names;
  for (const EncodingConfig& encoding : config.encodings) names.push_back(encoding.name);
  for (const std::string& field : fields.Unread()) {
    const auto second = EncodingFields().find(field);
    if (second == EncodingFields().end()) continue;
    std::string first = "model_type";
    for (const char* const decider : {"positional_encoding", "position_embedding_type"}) {
      if (field != decider && fields.Has(decider)) first = decider;
    }
    fields.Unsupported(field,
                       absl::StrCat("asks for the positional encoding \"", second->second,
                                    "\", but field \"", first, "\" already gives \"",
                                    absl::StrJoin(names, "+"), "\"; exactly one can be in force"));
    return;
  }
}

absl::StatusOr<ModelConfig> FromJson(nlohmann::json object, ConfigPurpose purpose) {
  if (!object.is_object()) {
    return MakeError(absl::StatusCode::kInvalidArgument, "MALFORMED_JSON", "not a JSON object");
  }
  ConfigFields fields(std::move(object));
  ModelConfig config;
  config.architecture = fields.String("model_type", "");
  const Architecture* const architecture = FindArchitecture(config.architecture);
  if (architecture == nullptr) {
    if (config.architecture.empty()) {
      fields.Bad("model_type", "must name the architecture");
    } else {
      fields.Unsupported("model_type", absl::StrCat("is not one of those Heed knows: ",
                                                    absl::StrJoin(ArchitectureNames(), ", ")));
    }
    return fields.status();
  }
  architecture->read_config(fields, purpose, config);
  RefuseSecondEncoding(fields, config);
  fields.RefuseUnread();
  if (!fields.status().ok()) return fields.status();
  return config;
}

}  // namespace

absl::StatusOr<ModelConfig> ParseModelConfig(absl::string_view content, ConfigPurpose purpose) {
  absl::StatusOr<nlohmann::json> object = ParseJson(content);
  if (!object.ok()) return object.status();
  return FromJson(*std::move(object), purpose);
}

absl::StatusOr<ModelConfig> ReadModelConfig(const std::string& path, ConfigPurpose purpose) {
  absl::StatusOr<nlohmann::json> object = ReadJsonFile(path);
  if (!object.ok()) return object.status();
  absl::StatusOr<ModelConfig> config = FromJson(*std::move(object), purpose);
  if (!config.ok()) return WithMessagePrefix(config.status(), absl::StrCat(path, ": "));
  return config;
}

}  // namespace heed
