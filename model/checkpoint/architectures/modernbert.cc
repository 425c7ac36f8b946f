// ModernBERT (Warner et al., 2024, arXiv:2412.13663): pre-norm, gated, rotary positions, layers
// that alternate between global attention and a sliding window, each kind with its own base.

#include "absl/strings/str_cat.h"
#include "model/checkpoint/architectures/bert_family.h"
#include "model/checkpoint/architectures/rope_config.h"

namespace heed {
namespace {

using nlohmann::json;

constexpr const char* kFull = "full_attention";
constexpr const char* kSliding = "sliding_attention";

// Whether each layer has the sliding window: layer_types (5.x) or global_attn_every_n_layers (4.x).
std::vector<int64_t> ReadLayerTypes(ConfigFields& fields, const ModelConfig& config) {
  std::vector<int64_t> sliding;
  const int64_t every = fields.Int("global_attn_every_n_layers", 1, kMaxLayers, 3);
  if (!fields.Has("layer_types")) {
    for (int64_t i = 0; i < config.layer_count; ++i) sliding.push_back(i % every != 0);
    return sliding;
  }
  const json& types = fields.Raw("layer_types");
  for (const json& type : types) {
    if (type != kFull && type != kSliding) {
      fields.Unsupported("layer_types", absl::StrCat("a layer is ", kFull, " or ", kSliding));
      return {};
    }
    sliding.push_back(type == kSliding);
  }
  if (static_cast<int64_t>(sliding.size()) != config.layer_count) {
    fields.Bad("layer_types", absl::StrCat("does not have ", config.layer_count, " entries"));
  }
  return sliding;
}

// The rotary parameters of one kind of layer: its part of rope_parameters (5.x), or the one
// rope_scaling of all layers (4.x); where both stand they must agree.
json ParametersOf(ConfigFields& fields, const char* kind) {
  const json& parameters = fields.Raw("rope_parameters");
  const json& scaling = fields.Raw("rope_scaling");
  if (!scaling.is_null() && !scaling.is_object()) fields.Bad("rope_scaling", "is not an object");
  if (parameters.is_null()) return scaling.is_object() ? scaling : json::object();
  if (!parameters.is_object()) {
    fields.Bad("rope_parameters", "is not an object");
    return json::object();
  }
  for (const auto& [name, of_kind] : parameters.items()) {
    // Without its kind, a parameter would be left out of the computation.
    if ((name != kFull && name != kSliding) || !(of_kind.is_object() || of_kind.is_null())) {
      fields.Bad("rope_parameters", absl::StrCat("is not an object of ", kFull, " and ", kSliding,
                                                 ", each an object"));
      return json::object();
    }
  }
  json of_kind = parameters.value(kind, json());
  if (of_kind.is_null()) of_kind = json::object();
  if (!scaling.is_object()) return of_kind;
  for (const auto& [name, value] : scaling.items()) {
    if (of_kind.value(name, json()) != value) {
      fields.Bad("rope_scaling", "contradicts rope_parameters");
    }
  }
  return of_kind;
}

// One rotary encoding for each kind of layer that there is.
void ReadPositions(ConfigFields& fields, ModelConfig& config) {
  struct Kind {
    const char* name;
    const char* theta_field;
    double default_theta;
  };
  const Kind kinds[] = {{kFull, "global_rope_theta", 160000},
                        {kSliding, "local_rope_theta", 10000}};
  for (int64_t kind = 0; kind < 2; ++kind) {
    const auto& [name, theta_field, default_theta] = kinds[kind];
    const json parameters = ParametersOf(fields, name);
    const double theta = fields.Number(theta_field, 1e-300, default_theta);
    RefuseContradiction(fields, theta_field, parameters, "rope_theta");
    const char* const field = fields.Has("rope_parameters") ? "rope_parameters" : "rope_scaling";
    EncodingConfig encoding = ReadRopeParameters(fields, field, parameters, theta, 1, config);
    for (int64_t layer = 0; layer < config.layer_count; ++layer) {
      if (config.layer_patterns[layer] == kind) encoding.layers.push_back(layer);
    }
    if (!encoding.layers.empty()) config.encodings.push_back(std::move(encoding));
  }
}

void ReadConfig(ConfigFields& fields, ConfigPurpose purpose, ModelConfig& config) {
  ReadSizes(fields, config);
  CheckHeads(fields, "num_attention_heads", config);
  config.reads_segments = false;
  config.norm_eps = fields.Number("norm_eps", 0, 1e-5);
  config.activation = ReadActivation(fields, "hidden_activation", "gelu");
  config.gated = true;
  config.pre_norm = true;
  config.final_norm = true;
  config.first_attention_norm = false;
  config.layout.norm_bias = fields.Bool("norm_bias", false);
  config.layout.attention_bias = fields.Bool("attention_bias", false);
  config.layout.feed_forward_bias = fields.Bool("mlp_bias", false);
  // Old files carry these beside the fields that count.
  fields.Ignore({"layer_norm_eps"});
  if (fields.String("position_embedding_type", "absolute") != "absolute") {
    fields.Unsupported("position_embedding_type", "ModernBERT's positions are rotary");
  }
  RefuseVariants(fields);
  config.layer_patterns = ReadLayerTypes(fields, config);
  const int64_t both_sides = fields.Int("local_attention", 0, kMaxVocabulary, 128);
  config.patterns = {{"dense", {}}, {"sliding_window", {{"window", absl::StrCat(both_sides / 2)}}}};
  if (!fields.status().ok()) return;
  ReadPositions(fields, config);

  const std::string pooling = fields.String("classifier_pooling", "cls");
  if (pooling != "cls" && pooling != "mean") fields.Bad("classifier_pooling", "is not cls or mean");
  HeadConfig head =
      SequenceHead(pooling == "mean" ? Pooling::kMean : Pooling::kFirst, "head.dense",
                   ReadActivation(fields, "classifier_activation", "gelu"), "classifier");
  head.dense_bias = fields.Bool("classifier_bias", false);
  head.norm = "head.norm";
  head.norm_bias = config.layout.norm_bias;
  HeadConfig tokens = head;
  tokens.pooling = Pooling::kTokens;
  ReadHead(
      fields, purpose,
      {{"ModernBertForSequenceClassification", head}, {"ModernBertForTokenClassification", tokens}},
      config);
}

std::vector<WeightSpec> Weights(const ModelConfig& config) {
  const int64_t width = config.hidden_size;
  std::vector<WeightSpec> specs = {
      {"embeddings.word", {"embeddings.tok_embeddings.weight"}, {config.vocab_size, width}}};
  AddNorm(specs, "embeddings.norm", "embeddings.norm", width, config.layout.norm_bias);
  for (int64_t i = 0; i < config.layer_count; ++i) {
    const std::string role = absl::StrCat("layers.", i, ".");
    if (i > 0 || config.first_attention_norm) {
      AddNorm(specs, role + "attention.norm", role + "attn_norm", width, config.layout.norm_bias);
    }
    AddLinear(specs, role + "attention.query_key_value", role + "attn.Wqkv", 3 * width, width,
              config.layout.attention_bias);
    AddLinear(specs, role + "attention.output", role + "attn.Wo", width, width,
              config.layout.attention_bias);
    AddNorm(specs, role + "norm", role + "mlp_norm", width, config.layout.norm_bias);
    AddLinear(specs, role + "intermediate", role + "mlp.Wi", 2 * config.intermediate_size, width,
              config.layout.feed_forward_bias);
    AddLinear(specs, role + "output", role + "mlp.Wo", width, config.intermediate_size,
              config.layout.feed_forward_bias);
  }
  AddNorm(specs, "final_norm", "final_norm", width, config.layout.norm_bias);
  AddHead(specs, config);
  return specs;
}

}  // namespace

Architecture Make_modernbert() { return {ReadConfig, Weights, "model.", {}}; }

}  // namespace heed
