// RoFormer (Su et al., 2021, arXiv:2104.09864): BERT with rotary positions on interleaved pairs,
// from the table of sines and cosines that the checkpoint holds; rotary_value turns the values too.

#include "model/checkpoint/architectures/bert_family.h"

namespace heed {
namespace {

void ReadConfig(ConfigFields& fields, ConfigPurpose purpose, ModelConfig& config) {
  ReadBertSizes(fields, config);
  config.embedding_size = fields.Int("embedding_size", 1, kMaxSize, config.hidden_size);
  RefuseVariants(fields);
  EncodingConfig rope{"rope", {{"layout", "interleaved"}}, {}};
  if (fields.Bool("rotary_value", false)) rope.options["rotate_value"] = "true";
  config.encodings = {rope};
  config.max_tokens = config.position_count;
  const std::string activation = config.activation;
  ReadHead(fields, purpose,
           {{"RoFormerForSequenceClassification",
             SequenceHead(Pooling::kFirst, "classifier.dense", activation, "classifier.out_proj")},
            {"RoFormerForTokenClassification", TokenHead()}},
           config);
}

std::vector<WeightSpec> Weights(const ModelConfig& config) {
  std::vector<WeightSpec> specs = BertWeights(config);
  if (config.embedding_size != config.hidden_size) {
    AddLinear(specs, "embeddings.projection", "embeddings_project", config.hidden_size,
              config.embedding_size);
  }
  WeightSpec table{"positional.sin_cos_table",
                   {"encoder.embed_positions.weight"},
                   {config.position_count, config.head_width()}};
  table.optional = true;  // older files leave it out: it is the formula's
  specs.push_back(table);
  return specs;
}

}  // namespace

Architecture Make_roformer() { return {ReadConfig, Weights, "roformer.", BertBuffers()}; }

}  // namespace heed
