// XLNet (Yang et al., 2019, arXiv:1906.08237) as a bidirectional encoder: relative positions and
// segments in the scores, no embedding norm, no biases in attention. Its classifier reads the last
// token.

#include "absl/strings/str_cat.h"
#include "model/checkpoint/architectures/bert_family.h"

namespace heed {
namespace {

HeadConfig ReadSummary(ConfigFields& fields) {
  const std::string type = fields.String("summary_type", "last");
  Pooling pooling = Pooling::kLast;
  if (type == "first") {
    pooling = Pooling::kFirst;
  } else if (type != "last") {
    fields.Unsupported("summary_type", "must be last or first");
  }
  if (!fields.Bool("summary_use_proj", true)) {
    fields.Unsupported("summary_use_proj", "must be true");
  }
  std::string activation;
  if (fields.Has("summary_activation")) {
    activation = ReadActivation(fields, "summary_activation", "tanh");
  }
  return SequenceHead(pooling, "sequence_summary.summary", activation, "logits_proj");
}

void ReadConfig(ConfigFields& fields, ConfigPurpose purpose, ModelConfig& config) {
  config.hidden_size = fields.Int("d_model", 1, kMaxSize);
  config.layer_count = fields.Int("n_layer", 1, kMaxLayers);
  config.head_count = fields.Int("n_head", 1, kMaxSize);
  CheckHeads(fields, "n_head", config);
  config.head_size = fields.Int("d_head", 1, kMaxSize, config.head_width());
  config.intermediate_size = fields.Int("d_inner", 1, kMaxSize);
  config.vocab_size = fields.Int("vocab_size", 1, kMaxVocabulary);
  config.norm_eps = fields.Number("layer_norm_eps", 0, 1e-12);
  config.activation = ReadActivation(fields, "ff_activation", "gelu");
  config.embedding_norm = false;
  if (fields.String("attn_type", "bi") != "bi") fields.Unsupported("attn_type", "must be bi");
  for (const char* const flag : {"bi_data", "same_length"}) {
    if (fields.Bool(flag, false)) fields.Unsupported(flag, "must be false");
  }
  const int64_t clamp_len = fields.Int("clamp_len", -1, kMaxVocabulary, -1);
  // Memory of earlier segments, which a classifier has none of, and other heads.
  fields.Ignore({"mem_len", "reuse_len", "untie_r", "start_n_top", "end_n_top"});
  RefuseVariants(fields);
  config.encodings = {{"xlnet_relative", {}, {}}};
  if (clamp_len > 0) config.encodings[0].options["clamp_len"] = absl::StrCat(clamp_len);
  ReadHead(fields, purpose,
           {{"XLNetForSequenceClassification", ReadSummary(fields)},
            {"XLNetForTokenClassification", TokenHead()}},
           config);
}

std::vector<WeightSpec> Weights(const ModelConfig& config) {
  const int64_t width = config.hidden_size;
  const int64_t heads = config.head_count;
  const int64_t size = config.head_width();
  std::vector<WeightSpec> specs = {
      {"embeddings.word", {"word_embedding.weight"}, {config.vocab_size, width}}};
  for (int64_t i = 0; i < config.layer_count; ++i) {
    const std::string role = absl::StrCat("layers.", i, ".");
    const std::string attention = absl::StrCat("layer.", i, ".rel_attn.");
    const std::string feed = absl::StrCat("layer.", i, ".ff.");
    const auto add = [&](const std::string& part, const std::string& name, WeightForm form) {
      specs.push_back({role + part, {attention + name}, {width, heads, size}, form});
    };
    add("attention.query.weight", "q", WeightForm::kTransposed);
    add("attention.key.weight", "k", WeightForm::kTransposed);
    add("attention.value.weight", "v", WeightForm::kTransposed);
    add("attention.output.weight", "o", WeightForm::kFlattened);
    add("positional.r", "r", WeightForm::kFlattened);
    for (const char* const bias : {"r_w_bias", "r_r_bias", "r_s_bias"}) {
      specs.push_back({absl::StrCat(role, "positional.", bias), {attention + bias}, {heads, size}});
    }
    specs.push_back({role + "positional.seg_embed", {attention + "seg_embed"}, {2, heads, size}});
    AddNorm(specs, role + "attention.norm", attention + "layer_norm", width);
    AddLinear(specs, role + "intermediate", feed + "layer_1", config.intermediate_size, width);
    AddLinear(specs, role + "output", feed + "layer_2", width, config.intermediate_size);
    AddNorm(specs, role + "norm", feed + "layer_norm", width);
  }
  AddHead(specs, config);
  return specs;
}

}  // namespace

Architecture Make_xlnet() { return {ReadConfig, Weights, "transformer.", {}}; }

}  // namespace heed
