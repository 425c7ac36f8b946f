// Jina Embeddings v3 (Sturua et al., 2024, arXiv:2409.10173) as transformers 5 computes it:
// XLM-RoBERTa's post-norm layers with rotary positions and no position table.

#include "absl/strings/str_cat.h"
#include "model/checkpoint/architectures/bert_family.h"
#include "model/checkpoint/architectures/rope_config.h"

namespace heed {
namespace {

void ReadConfig(ConfigFields& fields, ConfigPurpose purpose, ModelConfig& config) {
  ReadBertSizes(fields, config, 1e-5);
  config.segment_count = fields.Int("type_vocab_size", 0, kMaxSize, 1);
  config.reads_segments = false;
  RefuseVariants(fields);
  config.encodings = {ReadRope(fields, 20000, config)};
  ReadHead(fields, purpose,
           {{"JinaEmbeddingsV3ForSequenceClassification",
             SequenceHead(Pooling::kFirst, "classifier.dense", "tanh", "classifier.out_proj")},
            {"JinaEmbeddingsV3ForTokenClassification", TokenHead()}},
           config);
}

std::vector<WeightSpec> Weights(const ModelConfig& config) {
  const int64_t width = config.hidden_size;
  std::vector<WeightSpec> specs = {
      {"embeddings.word", {"embeddings.word_embeddings.weight"}, {config.vocab_size, width}}};
  if (config.segment_count > 0) {
    specs.push_back({"embeddings.segment",
                     {"embeddings.token_type_embeddings.weight"},
                     {config.segment_count, width}});
  }
  AddNorm(specs, "embeddings.norm", "emb_ln", width);
  for (int64_t i = 0; i < config.layer_count; ++i) {
    const std::string role = absl::StrCat("layers.", i, ".");
    const std::string name = absl::StrCat("encoder.layers.", i, ".");
    AddLinear(specs, role + "attention.query_key_value", name + "mixer.Wqkv", 3 * width, width);
    AddLinear(specs, role + "attention.output", name + "mixer.out_proj", width, width);
    AddNorm(specs, role + "attention.norm", name + "norm1", width);
    AddLinear(specs, role + "intermediate", name + "mlp.fc1", config.intermediate_size, width);
    AddLinear(specs, role + "output", name + "mlp.fc2", width, config.intermediate_size);
    AddNorm(specs, role + "norm", name + "norm2", width);
  }
  AddHead(specs, config);
  return specs;
}

}  // namespace

Architecture Make_jina_embeddings_v3() { return {ReadConfig, Weights, "roberta.", {}}; }

}  // namespace heed
