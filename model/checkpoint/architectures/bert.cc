// BERT (Devlin et al., 2019, arXiv:1810.04805) as transformers writes it, 4.x and 5.x, with the
// relative position types of 4.x.

#include "absl/strings/str_cat.h"
#include "model/checkpoint/architectures/bert_family.h"

namespace heed {
namespace {

// A linear classifier on the mean of the last hidden state, its tensors in a file of their own.
constexpr const char* kMeanClassifier = "HeedSentenceClassifier";

void ReadConfig(ConfigFields& fields, ConfigPurpose purpose, ModelConfig& config) {
  ReadBertSizes(fields, config);
  RefuseVariants(fields);
  ReadPositionType(fields, config);
  ReadHead(fields, purpose,
           {{"BertForSequenceClassification",
             SequenceHead(Pooling::kFirst, "pooler.dense", "tanh", "classifier")},
            {"BertForTokenClassification", TokenHead()},
            {kMeanClassifier, SequenceHead(Pooling::kMean, "", "", "classifier")}},
           config);
  if (config.head.pooling == Pooling::kMean) {
    if (fields.String("classifier_pooling", "") != "mean") {
      fields.Bad("classifier_pooling", absl::StrCat("must be \"mean\" for ", kMeanClassifier));
    }
    config.head_file = fields.String("head_file", "");
  }
}

}  // namespace

Architecture Make_bert() { return {ReadConfig, BertWeights, "bert.", BertBuffers()}; }

}  // namespace heed
