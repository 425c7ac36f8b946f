// EuroBERT (Boizard et al., 2025, arXiv:2503.05500): pre-RMSNorm, grouped-query attention (Ainslie
// et al., 2023, arXiv:2305.13245), rotary positions, a gated feed-forward network.

#include "absl/strings/str_cat.h"
#include "model/checkpoint/architectures/bert_family.h"
#include "model/checkpoint/architectures/rope_config.h"

namespace heed {
namespace {

Pooling ReadPooling(ConfigFields& fields) {
  const std::string pooling = fields.String("classifier_pooling", "late");
  if (pooling == "bos") return Pooling::kFirst;
  if (pooling == "mean") return Pooling::kMean;
  if (pooling != "late") fields.Bad("classifier_pooling", "is not one of bos, mean, late");
  return Pooling::kLate;
}

void ReadConfig(ConfigFields& fields, ConfigPurpose purpose, ModelConfig& config) {
  ReadSizes(fields, config);
  config.head_size = fields.Int("head_dim", 1, kMaxSize, 0);
  if (config.head_size == 0) CheckHeads(fields, "num_attention_heads", config);
  config.key_value_head_count = fields.Int("num_key_value_heads", 1, kMaxSize, config.head_count);
  if (config.head_count % config.key_value_head_count != 0) {
    fields.Bad("num_key_value_heads", "does not divide num_attention_heads");
  }
  config.reads_segments = false;
  config.norm = NormKind::kRmsNorm;
  config.norm_eps = fields.Number("rms_norm_eps", 0, 1e-5);
  config.activation = ReadActivation(fields, "hidden_act", "silu");
  config.gated = true;
  config.pre_norm = true;
  config.embedding_norm = false;
  config.final_norm = true;
  config.layout.attention_bias = fields.Bool("attention_bias", false);
  config.layout.feed_forward_bias = fields.Bool("mlp_bias", false);
  RefuseVariants(fields);
  config.encodings = {ReadRope(fields, 10000, config)};
  ReadHead(fields, purpose,
           {{"EuroBertForSequenceClassification",
             SequenceHead(ReadPooling(fields), "dense", "gelu", "classifier")},
            {"EuroBertForTokenClassification", TokenHead()}},
           config);
}

std::vector<WeightSpec> Weights(const ModelConfig& config) {
  const int64_t width = config.hidden_size;
  const int64_t query = config.attention_width();
  const int64_t key = config.key_value_heads() * config.head_width();
  const bool attention_bias = config.layout.attention_bias;
  const bool feed_bias = config.layout.feed_forward_bias;
  std::vector<WeightSpec> specs = {
      {"embeddings.word", {"embed_tokens.weight"}, {config.vocab_size, width}}};
  for (int64_t i = 0; i < config.layer_count; ++i) {
    const std::string role = absl::StrCat("layers.", i, ".");
    const std::string attention = role + "self_attn.";
    AddNorm(specs, role + "attention.norm", role + "input_layernorm", width, false);
    AddLinear(specs, role + "attention.query", attention + "q_proj", query, width, attention_bias);
    AddLinear(specs, role + "attention.key", attention + "k_proj", key, width, attention_bias);
    AddLinear(specs, role + "attention.value", attention + "v_proj", key, width, attention_bias);
    AddLinear(specs, role + "attention.output", attention + "o_proj", width, query, attention_bias);
    AddNorm(specs, role + "norm", role + "post_attention_layernorm", width, false);
    AddLinear(specs, role + "intermediate.gate", role + "mlp.gate_proj", config.intermediate_size,
              width, feed_bias);
    AddLinear(specs, role + "intermediate.up", role + "mlp.up_proj", config.intermediate_size,
              width, feed_bias);
    AddLinear(specs, role + "output", role + "mlp.down_proj", width, config.intermediate_size,
              feed_bias);
  }
  AddNorm(specs, "final_norm", "norm", width, false);
  AddHead(specs, config);
  return specs;
}

}  // namespace

Architecture Make_eurobert() { return {ReadConfig, Weights, "model.", {}}; }

}  // namespace heed
