// BERT (Devlin et al., 2019, arXiv:1810.04805) as transformers writes it, 4.x and 5.x.

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "model/checkpoint/architectures/architecture.h"
#include "model/checkpoint/classifier_config.h"

namespace heed {
namespace {

constexpr const char* kClassifier = "BertForSequenceClassification";
// A linear classifier on the mean of the last hidden state, its tensors in a file of their own.
constexpr const char* kMeanClassifier = "HeedSentenceClassifier";

// Bounds that no real model reaches; beyond them sizes would overflow or a table would not fit.
constexpr int64_t kMaxSize = 1 << 20;
constexpr int64_t kMaxVocabulary = 1 << 26;
constexpr int64_t kMaxLayers = 1024;

constexpr std::array<absl::string_view, 7> kActivations = {
    "gelu", "gelu_new", "gelu_pytorch_tanh", "relu", "silu", "swish", "tanh"};

void ReadSizes(ConfigFields& fields, ModelConfig& config) {
  config.hidden_size = fields.Int("hidden_size", 1, kMaxSize);
  config.layer_count = fields.Int("num_hidden_layers", 1, kMaxLayers);
  config.head_count = fields.Int("num_attention_heads", 1, kMaxSize);
  config.intermediate_size = fields.Int("intermediate_size", 1, kMaxSize);
  config.vocab_size = fields.Int("vocab_size", 1, kMaxVocabulary);
  config.segment_count = fields.Int("type_vocab_size", 1, kMaxSize);
  config.position_count = fields.Int("max_position_embeddings", 1, kMaxVocabulary);
  config.layer_norm_eps = fields.Number("layer_norm_eps", 0, 1e-12);
  if (config.hidden_size % config.head_count != 0) {
    fields.Bad("num_attention_heads",
               absl::StrCat("does not divide hidden_size ", config.hidden_size));
  }
}

// Fields whose other values ask for a computation that is not here.
void RefuseVariants(ConfigFields& fields) {
  if (fields.Bool("is_decoder", false)) {
    fields.Unsupported("is_decoder", "Heed runs encoders; a decoder's causal mask is not computed");
  }
  if (fields.Bool("is_encoder_decoder", false)) {
    fields.Unsupported("is_encoder_decoder", "Heed runs encoders alone");
  }
  if (fields.Bool("add_cross_attention", false)) {
    fields.Unsupported("add_cross_attention", "Heed runs encoders, which attend to one sequence");
  }
  if (fields.Has("pruned_heads") && !fields.Raw("pruned_heads").empty()) {
    fields.Unsupported("pruned_heads", "pruned attention heads are not computed");
  }
  if (fields.Has("quantization_config")) {
    fields.Unsupported("quantization_config", "quantised checkpoints are not read");
  }
  if (fields.Has("auto_map")) {
    fields.Unsupported("auto_map", "the model comes with code of its own, which Heed does not run");
  }
}

void ReadHead(ConfigFields& fields, ModelConfig& config) {
  std::string architecture = kClassifier;  // transformers' own choice for a classifier
  if (fields.Has("architectures")) {
    const nlohmann::json& list = fields.Raw("architectures");
    if (!list.is_array() || list.size() != 1 || !list[0].is_string()) {
      fields.Bad("architectures", "is not a list of one name");
      return;
    }
    architecture = list[0].get<std::string>();
  }
  if (architecture == kClassifier) {
    config.pooling = Pooling::kBertPooler;
  } else if (architecture == kMeanClassifier) {
    config.pooling = Pooling::kMean;
    if (fields.String("classifier_pooling", "") != "mean") {
      fields.Bad("classifier_pooling", absl::StrCat("must be \"mean\" for ", kMeanClassifier));
    }
    config.head_file = fields.String("head_file", "");
  } else {
    fields.Unsupported("architectures",
                       absl::StrCat("Heed serves ", kClassifier, " and ", kMeanClassifier,
                                    "; a model without a trained sequence-classification head "
                                    "cannot classify"));
    return;
  }
  ReadClassifierFields(fields, config);
}

void ReadBertConfig(ConfigFields& fields, ConfigPurpose purpose, ModelConfig& config) {
  ReadSizes(fields, config);
  RefuseVariants(fields);
  config.activation = fields.String("hidden_act", "gelu");
  if (std::find(kActivations.begin(), kActivations.end(), config.activation) ==
      kActivations.end()) {
    fields.Unsupported("hidden_act",
                       absl::StrCat("must be one of ", absl::StrJoin(kActivations, ", ")));
  }
  if (fields.String("position_embedding_type", "absolute") != "absolute") {
    fields.Unsupported("position_embedding_type", "only \"absolute\" is computed");
  }
  config.positional_encoding = "learned";
  if (purpose == ConfigPurpose::kClassifier) {
    ReadHead(fields, config);
  } else {
    for (const char* const name :
         {"num_labels", "id2label", "problem_type", "classifier_pooling", "head_file"}) {
      fields.Raw(name);  // the head is left aside, and its fields with it
    }
  }
}

// LayerNorm parameters were called gamma and beta in the first checkpoints.
void AddNorm(std::vector<WeightSpec>& specs, const std::string& role, const std::string& name,
             int64_t width) {
  specs.push_back({role + ".weight", {name + ".weight", name + ".gamma"}, {width}});
  specs.push_back({role + ".bias", {name + ".bias", name + ".beta"}, {width}});
}

void AddLinear(std::vector<WeightSpec>& specs, const std::string& role, const std::string& name,
               int64_t out, int64_t in) {
  specs.push_back({role + ".weight", {name + ".weight"}, {out, in}});
  specs.push_back({role + ".bias", {name + ".bias"}, {out}});
}

std::vector<WeightSpec> BertWeights(const ModelConfig& config) {
  const int64_t width = config.hidden_size;
  std::vector<WeightSpec> specs = {
      {"embeddings.word", {"embeddings.word_embeddings.weight"}, {config.vocab_size, width}},
      {"embeddings.segment",
       {"embeddings.token_type_embeddings.weight"},
       {config.segment_count, width}},
      {"positional.table",
       {"embeddings.position_embeddings.weight"},
       {config.position_count, width}},
  };
  AddNorm(specs, "embeddings.norm", "embeddings.LayerNorm", width);
  for (int64_t i = 0; i < config.layer_count; ++i) {
    const std::string role = absl::StrCat("layers.", i, ".");
    const std::string name = absl::StrCat("encoder.layer.", i, ".");
    AddLinear(specs, role + "attention.query", name + "attention.self.query", width, width);
    AddLinear(specs, role + "attention.key", name + "attention.self.key", width, width);
    AddLinear(specs, role + "attention.value", name + "attention.self.value", width, width);
    AddLinear(specs, role + "attention.output", name + "attention.output.dense", width, width);
    AddNorm(specs, role + "attention.norm", name + "attention.output.LayerNorm", width);
    AddLinear(specs, role + "intermediate", name + "intermediate.dense", config.intermediate_size,
              width);
    AddLinear(specs, role + "output", name + "output.dense", width, config.intermediate_size);
    AddNorm(specs, role + "norm", name + "output.LayerNorm", width);
  }
  if (config.pooling == Pooling::kBertPooler) {
    AddLinear(specs, "pooler", "pooler.dense", width, width);
  }
  if (config.pooling != Pooling::kNone) {
    AddLinear(specs, "classifier", "classifier", static_cast<int64_t>(config.labels.size()), width);
  }
  return specs;
}

}  // namespace

Architecture Make_bert() {
  return {ReadBertConfig,
          BertWeights,
          "bert.",
          {"embeddings.position_ids", "embeddings.token_type_ids"}};
}

}  // namespace heed
