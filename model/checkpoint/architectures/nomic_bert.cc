// NomicBERT (Nussbaum et al., 2024, arXiv:2402.01613) as transformers 5 computes it: post-norm,
// rotary positions, a gated feed-forward network, no biases in the linear layers.

#include "absl/strings/str_cat.h"
#include "model/checkpoint/architectures/bert_family.h"
#include "model/checkpoint/architectures/rope_config.h"

namespace heed {
namespace {

void ReadConfig(ConfigFields& fields, ConfigPurpose purpose, ModelConfig& config) {
  ReadBertSizes(fields, config);
  config.activation = ReadActivation(fields, "hidden_act", "silu");
  config.gated = true;
  config.head_size = fields.Int("head_dim", 1, kMaxSize, config.head_width());
  RefuseVariants(fields);
  config.encodings = {ReadRope(fields, 1000, config)};
  ReadHead(fields, purpose,
           {{"NomicBertForSequenceClassification",
             SequenceHead(Pooling::kFirst, "pooler.dense", "tanh", "classifier")},
            {"NomicBertForTokenClassification", TokenHead()}},
           config);
}

std::vector<WeightSpec> Weights(const ModelConfig& config) {
  const int64_t width = config.hidden_size;
  const int64_t inner = config.attention_width();
  std::vector<WeightSpec> specs = {
      {"embeddings.word", {"embeddings.word_embeddings.weight"}, {config.vocab_size, width}},
      {"embeddings.segment",
       {"embeddings.token_type_embeddings.weight"},
       {config.segment_count, width}}};
  AddNorm(specs, "embeddings.norm", "emb_ln", width);
  for (int64_t i = 0; i < config.layer_count; ++i) {
    const std::string role = absl::StrCat("layers.", i, ".");
    const std::string name = absl::StrCat("encoder.layers.", i, ".");
    AddLinear(specs, role + "attention.query_key_value", name + "attn.Wqkv", 3 * inner, width,
              false);
    AddLinear(specs, role + "attention.output", name + "attn.out_proj", width, inner, false);
    AddNorm(specs, role + "attention.norm", name + "norm1", width);
    AddLinear(specs, role + "intermediate.gate", name + "mlp.fc12", config.intermediate_size, width,
              false);
    AddLinear(specs, role + "intermediate.up", name + "mlp.fc11", config.intermediate_size, width,
              false);
    AddLinear(specs, role + "output", name + "mlp.fc2", width, config.intermediate_size, false);
    AddNorm(specs, role + "norm", name + "norm2", width);
  }
  AddHead(specs, config);
  return specs;
}

}  // namespace

Architecture Make_nomic_bert() { return {ReadConfig, Weights, "nomic_bert.", {}}; }

}  // namespace heed
