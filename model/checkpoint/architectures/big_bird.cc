// BigBird (Zaheer et al., 2020, arXiv:2007.14062): BERT with block-sparse attention, or in full
// where attention_type says original_full.

#include <cmath>

#include "absl/strings/str_cat.h"
#include "model/checkpoint/architectures/bert_family.h"

namespace heed {
namespace {

void ReadConfig(ConfigFields& fields, ConfigPurpose purpose, ModelConfig& config) {
  ReadBertSizes(fields, config);
  config.activation = ReadActivation(fields, "hidden_act", "gelu_new");
  RefuseVariants(fields);
  ReadPositionType(fields, config);
  config.layout.attention_bias = fields.Bool("use_bias", true);
  if (fields.Bool("rescale_embeddings", false)) {
    config.embedding_scale = std::sqrt(static_cast<double>(config.hidden_size));
  }
  const int64_t block = fields.Int("block_size", 1, kMaxVocabulary, 64);
  const int64_t random = fields.Int("num_random_blocks", 0, kMaxSize, 3);
  const std::string type = fields.String("attention_type", "block_sparse");
  if (type == "block_sparse") {
    config.patterns = {
        {"big_bird",
         {{"block_size", absl::StrCat(block)}, {"random_blocks", absl::StrCat(random)}}}};
  } else if (type != "original_full") {
    fields.Unsupported("attention_type", "must be block_sparse or original_full");
  }
  const std::string activation = config.activation;
  ReadHead(fields, purpose,
           {{"BigBirdForSequenceClassification",
             SequenceHead(Pooling::kFirst, "classifier.dense", activation, "classifier.out_proj")},
            {"BigBirdForTokenClassification", TokenHead()}},
           config);
}

std::vector<WeightSpec> Weights(const ModelConfig& config) {
  std::vector<WeightSpec> specs;
  AddBertEmbeddings(specs, config);
  AddLayers(specs, config, LayerNames(), config.layout.attention_bias);
  AddHead(specs, config);
  return specs;
}

}  // namespace

Architecture Make_big_bird() { return {ReadConfig, Weights, "bert.", BertBuffers()}; }

}  // namespace heed
