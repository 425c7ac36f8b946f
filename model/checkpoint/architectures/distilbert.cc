// DistilBERT (Sanh et al., 2019, arXiv:1910.01108): BERT without segments and pooler. LayerNorm's
// eps is 1e-12, whatever the configuration says.

#include "model/checkpoint/architectures/bert_family.h"

namespace heed {
namespace {

void ReadConfig(ConfigFields& fields, ConfigPurpose purpose, ModelConfig& config) {
  config.hidden_size = fields.Int("dim", 1, kMaxSize);
  config.layer_count = fields.Int("n_layers", 1, kMaxLayers);
  config.head_count = fields.Int("n_heads", 1, kMaxSize);
  config.intermediate_size = fields.Int("hidden_dim", 1, kMaxSize);
  config.vocab_size = fields.Int("vocab_size", 1, kMaxVocabulary);
  config.position_count = fields.Int("max_position_embeddings", 1, kMaxVocabulary);
  CheckHeads(fields, "n_heads", config);
  config.reads_segments = false;
  config.norm_eps = 1e-12;
  config.activation = ReadActivation(fields, "activation", "gelu");
  // Sinusoidal positions are saved as a table like any other.
  fields.Ignore({"sinusoidal_pos_embds"});
  RefuseVariants(fields);
  ReadPositionType(fields, config);
  ReadHead(fields, purpose,
           {{"DistilBertForSequenceClassification",
             SequenceHead(Pooling::kFirst, "pre_classifier", "relu", "classifier")},
            {"DistilBertForTokenClassification", TokenHead()}},
           config);
}

std::vector<WeightSpec> Weights(const ModelConfig& config) {
  LayerNames names;
  names.layer = "transformer.layer.";
  names.query = "attention.q_lin";
  names.key = "attention.k_lin";
  names.value = "attention.v_lin";
  names.attention_output = "attention.out_lin";
  names.attention_norm = "sa_layer_norm";
  names.intermediate = "ffn.lin1";
  names.output = "ffn.lin2";
  names.norm = "output_layer_norm";
  std::vector<WeightSpec> specs;
  AddBertEmbeddings(specs, config);
  AddLayers(specs, config, names);
  AddHead(specs, config);
  return specs;
}

}  // namespace

Architecture Make_distilbert() { return {ReadConfig, Weights, "distilbert.", BertBuffers()}; }

}  // namespace heed
