// Heed's own encoder: pre-norm layers with any positional encoding, any attention pattern, a plain
// or gated feed-forward network, and mean or first-token pooling. model/README.md documents its
// config.json.

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "model/checkpoint/architectures/bert_family.h"

namespace heed {
namespace {

using nlohmann::json;

// An object of scalars, as text.
std::map<std::string, std::string> ReadOptions(ConfigFields& fields, absl::string_view name) {
  std::map<std::string, std::string> options;
  const json& object = fields.Raw(name);
  if (object.is_null()) return options;
  if (!object.is_object()) {
    fields.Bad(name, "is not an object");
    return options;
  }
  for (const auto& [key, value] : object.items()) {
    if (value.is_string()) {
      options[key] = value.get<std::string>();
    } else if (value.is_number_float()) {
      options[key] = absl::StrFormat("%.17g", value.get<double>());
    } else if (value.is_number() || value.is_boolean()) {
      options[key] = value.dump();
    } else {
      fields.Bad(name, absl::StrCat("has an option \"", key,
                                    "\" that is neither a string, a number nor a boolean"));
    }
  }
  return options;
}

void ReadConfig(ConfigFields& fields, ConfigPurpose purpose, ModelConfig& config) {
  ReadSizes(fields, config);
  CheckHeads(fields, "num_attention_heads", config);
  config.segment_count = fields.Int("type_vocab_size", 0, kMaxSize, 0);
  config.reads_segments = config.segment_count > 0;
  config.norm_eps = fields.Number("layer_norm_eps", 0, 1e-5);
  std::string activation = fields.String("hidden_act", "gelu");
  // "geglu" is the gated form of "gelu", and so on.
  config.gated = activation == "geglu" || activation == "swiglu" || activation == "reglu";
  if (activation == "geglu") activation = "gelu";
  if (activation == "swiglu") activation = "silu";
  if (activation == "reglu") activation = "relu";
  if (!IsActivation(activation)) {
    fields.Unsupported("hidden_act", "is neither an activation nor geglu, swiglu or reglu");
  }
  config.activation = activation;
  config.pre_norm = true;
  config.embedding_norm = false;
  config.final_norm = true;
  RefuseVariants(fields);
  config.names_are_roles = true;
  config.encodings = {{fields.String("positional_encoding", "none"),
                       ReadOptions(fields, "positional_options"),
                       {}}};
  config.patterns = {
      {fields.String("attention_pattern", "dense"), ReadOptions(fields, "attention_options")}};
  config.max_tokens = config.position_count;

  const std::string pooling = fields.String("pooling", "mean");
  if (pooling != "mean" && pooling != "cls") fields.Bad("pooling", "is not mean or cls");
  ReadHead(
      fields, purpose,
      {{"HeedForSequenceClassification",
        SequenceHead(pooling == "mean" ? Pooling::kMean : Pooling::kFirst, "", "", "classifier")},
       {"HeedForTokenClassification", TokenHead()}},
      config);
}

std::vector<WeightSpec> Weights(const ModelConfig& config) {
  const int64_t width = config.hidden_size;
  std::vector<WeightSpec> specs = {
      {"embeddings.word", {"embeddings.word.weight"}, {config.vocab_size, width}}};
  if (config.segment_count > 0) {
    specs.push_back(
        {"embeddings.segment", {"embeddings.segment.weight"}, {config.segment_count, width}});
  }
  for (int64_t i = 0; i < config.layer_count; ++i) {
    const std::string layer = absl::StrCat("layers.", i, ".");
    AddNorm(specs, layer + "attention.norm", layer + "attention.norm", width);
    AddLinear(specs, layer + "attention.query_key_value", layer + "attention.query_key_value",
              3 * width, width);
    AddLinear(specs, layer + "attention.output", layer + "attention.output", width, width);
    AddNorm(specs, layer + "norm", layer + "norm", width);
    AddLinear(specs, layer + "intermediate", layer + "intermediate",
              config.intermediate_size * (config.gated ? 2 : 1), width);
    AddLinear(specs, layer + "output", layer + "output", width, config.intermediate_size);
  }
  AddNorm(specs, "final_norm", "final_norm", width);
  AddHead(specs, config);
  return specs;
}

}  // namespace

Architecture Make_heed() { return {ReadConfig, Weights, "", {}}; }

}  // namespace heed
