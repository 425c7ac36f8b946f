// The encoders of T5 (Raffel et al., 2020, arXiv:1910.10683) and UMT5 (Chung et al., 2023,
// arXiv:2304.09151): pre-RMSNorm without biases, scores not scaled, a relative bias whose table all
// layers share (T5) or each layer has its own of (UMT5). The decoder is left aside.

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "model/checkpoint/architectures/bert_family.h"

namespace heed {
namespace {

// feed_forward_proj: "relu", "gated-gelu", …; T5's gated-gelu is the tanh form.
void ReadFeedForward(ConfigFields& fields, const char* fallback, ModelConfig& config) {
  std::string name = fields.String("feed_forward_proj", fallback);
  if (absl::StartsWith(name, "gated-")) {
    config.gated = true;
    name = name.substr(6);
    if (name == "gelu") name = "gelu_new";
  }
  config.activation = name;
  if (!IsActivation(name)) fields.Unsupported("feed_forward_proj", "its activation is not known");
  // Derived from the above by transformers, whatever the file says.
  fields.Ignore({"dense_act_fn", "is_gated_act"});
}

void ReadCommon(ConfigFields& fields, ConfigPurpose purpose, const char* name, const char* feed,
                ModelConfig& config) {
  config.hidden_size = fields.Int("d_model", 1, kMaxSize);
  config.layer_count = fields.Int("num_layers", 1, kMaxLayers);
  config.head_count = fields.Int("num_heads", 1, kMaxSize);
  config.head_size = fields.Int("d_kv", 1, kMaxSize);
  config.intermediate_size = fields.Int("d_ff", 1, kMaxSize);
  config.vocab_size = fields.Int("vocab_size", 1, kMaxVocabulary);
  config.norm = NormKind::kRmsNorm;
  config.norm_eps = fields.Number("layer_norm_epsilon", 0, 1e-6);
  ReadFeedForward(fields, feed, config);
  config.reads_segments = false;
  config.embedding_norm = false;
  config.pre_norm = true;
  config.final_norm = true;
  config.attention_scale = 1;
  config.layout.bias_bucket_count = fields.Int("relative_attention_num_buckets", 2, kMaxSize, 32);
  const int64_t distance = fields.Int("relative_attention_max_distance", 1, kMaxVocabulary, 128);
  config.encodings = {{"t5_bias",
                       {{"num_buckets", absl::StrCat(config.layout.bias_bucket_count)},
                        {"max_distance", absl::StrCat(distance)}},
                       {}}};
  // Of the decoder, or of generation.
  fields.Ignore({"num_decoder_layers", "scale_decoder_outputs", "n_positions", "tokenizer_class",
                 "output_past"});
  RefuseVariants(fields, true);
  ReadHead(fields, purpose, {{absl::StrCat(name, "ForTokenClassification"), TokenHead()}}, config);
}

void ReadT5(ConfigFields& fields, ConfigPurpose purpose, ModelConfig& config) {
  ReadCommon(fields, purpose, "T5", "relu", config);
}

void ReadUmt5(ConfigFields& fields, ConfigPurpose purpose, ModelConfig& config) {
  config.layout.bias_in_each_layer = true;
  ReadCommon(fields, purpose, "UMT5", "gated-gelu", config);
}

std::vector<WeightSpec> Weights(const ModelConfig& config) {
  const int64_t width = config.hidden_size;
  const int64_t inner = config.attention_width();
  std::vector<WeightSpec> specs = {{"embeddings.word",
                                    {"shared.weight", "encoder.embed_tokens.weight"},
                                    {config.vocab_size, width}}};
  for (int64_t i = 0; i < config.layer_count; ++i) {
    const std::string role = absl::StrCat("layers.", i, ".");
    const std::string attention = absl::StrCat("encoder.block.", i, ".layer.0.");
    const std::string feed = absl::StrCat("encoder.block.", i, ".layer.1.");
    AddNorm(specs, role + "attention.norm", attention + "layer_norm", width, false);
    AddLinear(specs, role + "attention.query", attention + "SelfAttention.q", inner, width, false);
    AddLinear(specs, role + "attention.key", attention + "SelfAttention.k", inner, width, false);
    AddLinear(specs, role + "attention.value", attention + "SelfAttention.v", inner, width, false);
    AddLinear(specs, role + "attention.output", attention + "SelfAttention.o", width, inner, false);
    if (i == 0 || config.layout.bias_in_each_layer) {
      specs.push_back(
          {config.layout.bias_in_each_layer ? role + "positional.bias" : "positional.bias",
           {attention + "SelfAttention.relative_attention_bias.weight"},
           {config.layout.bias_bucket_count, config.head_count}});
    }
    AddNorm(specs, role + "norm", feed + "layer_norm", width, false);
    const std::string dense = feed + "DenseReluDense.";
    if (config.gated) {
      AddLinear(specs, role + "intermediate.gate", dense + "wi_0", config.intermediate_size, width,
                false);
      AddLinear(specs, role + "intermediate.up", dense + "wi_1", config.intermediate_size, width,
                false);
    } else {
      AddLinear(specs, role + "intermediate", dense + "wi", config.intermediate_size, width, false);
    }
    AddLinear(specs, role + "output", dense + "wo", width, config.intermediate_size, false);
  }
  AddNorm(specs, "final_norm", "encoder.final_layer_norm", width, false);
  AddHead(specs, config);
  return specs;
}

}  // namespace

// The embedding table may be there a second time, under the encoder's own name.
Architecture Make_t5() {
  return {ReadT5, Weights, "transformer.", {"encoder.embed_tokens.weight"}};
}
Architecture Make_umt5() {
  return {ReadUmt5, Weights, "transformer.", {"encoder.embed_tokens.weight"}};
}

}  // namespace heed
