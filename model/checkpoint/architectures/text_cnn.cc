// TextCNN (Kim, "Convolutional Neural Networks for Sentence Classification", 2014,
// arXiv:1408.5882): the baseline without attention. model/README.md documents its config.json.

#include "absl/strings/str_cat.h"
#include "model/checkpoint/architectures/bert_family.h"

namespace heed {
namespace {

void ReadConfig(ConfigFields& fields, ConfigPurpose purpose, ModelConfig& config) {
  config.hidden_size = fields.Int("hidden_size", 1, kMaxSize);
  config.vocab_size = fields.Int("vocab_size", 1, kMaxVocabulary);
  config.max_tokens = fields.Int("max_position_embeddings", 1, kMaxVocabulary, 0);
  config.text_cnn.filter_count = fields.Int("filter_count", 1, kMaxSize, 100);
  config.text_cnn.kernel_sizes = {3, 4, 5};
  if (fields.Has("kernel_sizes")) {
    config.text_cnn.kernel_sizes = fields.Ints("kernel_sizes", 1, 1024);
    if (config.text_cnn.kernel_sizes.empty()) fields.Bad("kernel_sizes", "has no kernel size");
  }
  config.reads_segments = false;
  RefuseVariants(fields);
  ReadHead(
      fields, purpose,
      {{"TextCnnForSequenceClassification", SequenceHead(Pooling::kFirst, "", "", "classifier")}},
      config);
}

std::vector<WeightSpec> Weights(const ModelConfig& config) {
  const TextCnnConfig& cnn = config.text_cnn;
  const auto kernel_count = static_cast<int64_t>(cnn.kernel_sizes.size());
  std::vector<WeightSpec> specs = {
      {"embeddings.word", {"embeddings.word.weight"}, {config.vocab_size, config.hidden_size}}};
  for (int64_t i = 0; i < kernel_count; ++i) {
    const std::string name = absl::StrCat("convolutions.", i);
    specs.push_back({name + ".weight",
                     {name + ".weight"},
                     {cnn.filter_count, config.hidden_size, cnn.kernel_sizes[i]}});
    specs.push_back({name + ".bias", {name + ".bias"}, {cnn.filter_count}});
  }
  if (config.head.pooling != Pooling::kNone) {
    AddLinear(specs, "classifier", "classifier", static_cast<int64_t>(config.labels.size()),
              cnn.filter_count * kernel_count);
  }
  return specs;
}

}  // namespace

Architecture Make_text_cnn() { return {ReadConfig, Weights, "", {}}; }

}  // namespace heed
