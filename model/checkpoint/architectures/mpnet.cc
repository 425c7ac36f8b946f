// MPNet (Song et al., 2020, arXiv:2004.09297): absolute positions that begin at row 2, whatever the
// pad token, and a T5-style bias from one table that all layers share. No segments.

#include "model/checkpoint/architectures/bert_family.h"

namespace heed {
namespace {

void ReadConfig(ConfigFields& fields, ConfigPurpose purpose, ModelConfig& config) {
  // transformers has the padding row fixed at 1.
  constexpr int64_t kPad = 1;
  ReadSizes(fields, config);
  CheckHeads(fields, "num_attention_heads", config);
  config.norm_eps = fields.Number("layer_norm_eps", 0, 1e-12);
  config.activation = ReadActivation(fields, "hidden_act", "gelu");
  config.reads_segments = false;
  // Sizes the table; the buckets are fixed at 32 (positional/mpnet_bias.cc).
  config.layout.bias_bucket_count = fields.Int("relative_attention_num_buckets", 32, kMaxSize, 32);
  RefuseVariants(fields);
  ReadPositionType(fields, config, kPad + 1);
  config.encodings.push_back({"mpnet_bias", {}, {}});
  SkipPads(config, kPad);
  ReadHead(fields, purpose,
           {{"MPNetForSequenceClassification",
             SequenceHead(Pooling::kFirst, "classifier.dense", "tanh", "classifier.out_proj")},
            {"MPNetForTokenClassification", TokenHead()}},
           config);
}

std::vector<WeightSpec> Weights(const ModelConfig& config) {
  LayerNames names;
  names.query = "attention.attn.q";
  names.key = "attention.attn.k";
  names.value = "attention.attn.v";
  names.attention_output = "attention.attn.o";
  names.attention_norm = "attention.LayerNorm";
  std::vector<WeightSpec> specs;
  AddBertEmbeddings(specs, config);
  AddLayers(specs, config, names);
  specs.push_back({"positional.bias",
                   {"encoder.relative_attention_bias.weight"},
                   {config.layout.bias_bucket_count, config.head_count}});
  AddHead(specs, config);
  return specs;
}

}  // namespace

Architecture Make_mpnet() { return {ReadConfig, Weights, "mpnet.", BertBuffers()}; }

}  // namespace heed
