// Longformer (Beltagy et al., 2020, arXiv:2004.05150): RoBERTa with a sliding window and a few
// global tokens, whose rows have projections of their own. Its classifier makes the first token
// global.

#include "absl/strings/str_cat.h"
#include "model/checkpoint/architectures/bert_family.h"

namespace heed {
namespace {

using nlohmann::json;

// attention_window: the whole window, one number or one a layer.
void ReadWindows(ConfigFields& fields, bool first_is_global, ModelConfig& config) {
  const json& field = fields.Raw("attention_window");
  std::vector<int64_t> windows;
  if (field.is_array()) {
    windows = fields.Ints("attention_window", 2, kMaxVocabulary);
  } else {
    windows.assign(config.layer_count, fields.Int("attention_window", 2, kMaxVocabulary, 512));
  }
  if (static_cast<int64_t>(windows.size()) != config.layer_count) {
    fields.Bad("attention_window", absl::StrCat("does not have ", config.layer_count, " entries"));
    return;
  }
  config.patterns.clear();
  for (int64_t i = 0; i < config.layer_count; ++i) {
    if (windows[i] % 2 != 0) fields.Bad("attention_window", "has an odd entry");
    PatternConfig pattern{"longformer", {{"window", absl::StrCat(windows[i] / 2)}}};
    if (first_is_global) pattern.options["global_tokens"] = "0";
    config.patterns.push_back(std::move(pattern));
    config.layer_patterns.push_back(i);
  }
}

void ReadConfig(ConfigFields& fields, ConfigPurpose purpose, ModelConfig& config) {
  ReadBertSizes(fields, config);
  config.reads_segments = false;
  const int64_t pad = fields.Int("pad_token_id", 0, config.vocab_size - 1, 1);
  RefuseVariants(fields);
  fields.Ignore({"attention_mode", "ignore_attention_mask"});
  ReadPositionType(fields, config, pad + 1);
  SkipPads(config, pad);
  ReadHead(fields, purpose,
           {{"LongformerForSequenceClassification",
             SequenceHead(Pooling::kFirst, "classifier.dense", "tanh", "classifier.out_proj")},
            {"LongformerForTokenClassification", TokenHead()}},
           config);
  ReadWindows(fields, config.head.pooling == Pooling::kFirst, config);
}

std::vector<WeightSpec> Weights(const ModelConfig& config) {
  std::vector<WeightSpec> specs = BertWeights(config);
  for (int64_t i = 0; i < config.layer_count; ++i) {
    for (const char* const part : {"query", "key", "value"}) {
      AddLinear(specs, absl::StrCat("layers.", i, ".global_attention.", part),
                absl::StrCat("encoder.layer.", i, ".attention.self.", part, "_global"),
                config.hidden_size, config.hidden_size);
    }
  }
  return specs;
}

}  // namespace

Architecture Make_longformer() { return {ReadConfig, Weights, "longformer.", BertBuffers()}; }

}  // namespace heed
