// ERNIE (Sun et al., 2019, arXiv:1904.09223; task embeddings: ERNIE 2.0, arXiv:1907.12412) as
// transformers computes it: BERT, plus row 0 of a task table where use_task_id says so.

#include "model/checkpoint/architectures/bert_family.h"

namespace heed {
namespace {

void ReadConfig(ConfigFields& fields, ConfigPurpose purpose, ModelConfig& config) {
  ReadBertSizes(fields, config);
  config.has_task_embedding = fields.Bool("use_task_id", false);
  fields.Ignore({"task_type_vocab_size"});
  RefuseVariants(fields);
  ReadPositionType(fields, config);
  ReadHead(fields, purpose,
           {{"ErnieForSequenceClassification",
             SequenceHead(Pooling::kFirst, "pooler.dense", "tanh", "classifier")},
            {"ErnieForTokenClassification", TokenHead()}},
           config);
}

std::vector<WeightSpec> Weights(const ModelConfig& config) {
  std::vector<WeightSpec> specs = BertWeights(config);
  if (config.has_task_embedding) {
    specs.push_back({"embeddings.task",
                     {"embeddings.task_type_embeddings.weight"},
                     {-1, config.embedding_width()}});
  }
  return specs;
}

}  // namespace

Architecture Make_ernie() { return {ReadConfig, Weights, "ernie.", BertBuffers()}; }

}  // namespace heed
