// ELECTRA's discriminator (Clark et al., 2020, arXiv:2003.10555): BERT with narrower embeddings.

#include "model/checkpoint/architectures/bert_family.h"

namespace heed {
namespace {

void ReadConfig(ConfigFields& fields, ConfigPurpose purpose, ModelConfig& config) {
  ReadBertSizes(fields, config);
  config.embedding_size = fields.Int("embedding_size", 1, kMaxSize, 128);
  RefuseVariants(fields);
  ReadPositionType(fields, config);
  // The summary_… fields belong to other heads.
  fields.Ignore({"summary_type", "summary_use_proj", "summary_activation"});
  ReadHead(fields, purpose,
           {{"ElectraForSequenceClassification",
             SequenceHead(Pooling::kFirst, "classifier.dense", "gelu", "classifier.out_proj")},
            {"ElectraForTokenClassification", TokenHead()}},
           config);
}

std::vector<WeightSpec> Weights(const ModelConfig& config) {
  std::vector<WeightSpec> specs = BertWeights(config);
  if (config.embedding_size != config.hidden_size) {
    AddLinear(specs, "embeddings.projection", "embeddings_project", config.hidden_size,
              config.embedding_size);
  }
  return specs;
}

}  // namespace

Architecture Make_electra() { return {ReadConfig, Weights, "electra.", BertBuffers()}; }

}  // namespace heed
