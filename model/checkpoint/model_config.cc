#include "model/checkpoint/model_config.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "model/api/error.h"
#include "model/checkpoint/architectures/architecture.h"
#include "model/checkpoint/config_fields.h"
#include "model/checkpoint/json.h"

namespace heed {
namespace {

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
