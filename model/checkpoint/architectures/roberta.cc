// RoBERTa (Liu et al., 2019, arXiv:1907.11692) and what has its shape: XLM-RoBERTa (Conneau et al.,
// 2020, arXiv:1911.02116), CamemBERT (Martin et al., 2020, arXiv:1911.03894).
// Positions begin at pad_token_id + 1 and skip pad tokens; segments are not an input: row 0 of the
// segment table is added to every token.

#include "absl/strings/str_cat.h"
#include "model/checkpoint/architectures/bert_family.h"

namespace heed {
namespace {

template <const char* const& kClass>
void ReadConfig(ConfigFields& fields, ConfigPurpose purpose, ModelConfig& config) {
  ReadBertSizes(fields, config);
  config.reads_segments = false;
  const int64_t pad = fields.Int("pad_token_id", 0, config.vocab_size - 1, 1);
  RefuseVariants(fields);
  ReadPositionType(fields, config, pad + 1);
  SkipPads(config, pad);
  ReadHead(fields, purpose,
           {{absl::StrCat(kClass, "ForSequenceClassification"),
             SequenceHead(Pooling::kFirst, "classifier.dense", "tanh", "classifier.out_proj")},
            {absl::StrCat(kClass, "ForTokenClassification"), TokenHead()}},
           config);
}

constexpr const char* kRoberta = "Roberta";
constexpr const char* kXlmRoberta = "XLMRoberta";
constexpr const char* kCamembert = "Camembert";

}  // namespace

Architecture Make_roberta() {
  return {ReadConfig<kRoberta>, BertWeights, "roberta.", BertBuffers()};
}
Architecture Make_xlm_roberta() {
  return {ReadConfig<kXlmRoberta>, BertWeights, "roberta.", BertBuffers()};
}
Architecture Make_camembert() {
  return {ReadConfig<kCamembert>, BertWeights, "roberta.", BertBuffers()};
}

}  // namespace heed
