#include "model/checkpoint/architectures/bert_family.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "model/checkpoint/classifier_config.h"

namespace heed {
namespace {

constexpr std::array<absl::string_view, 9> kActivations = {
    "gelu", "gelu_fast", "gelu_new", "gelu_pytorch_tanh", "linear", "relu",
    "silu", "swish",     "tanh"};

}  // namespace

bool IsActivation(absl::string_view name) {
  return std::find(kActivations.begin(), kActivations.end(), name) != kActivations.end();
}

std::string ReadActivation(ConfigFields& fields, absl::string_view name,
                           absl::string_view fallback) {
  std::string activation = fields.String(name, fallback);
  if (!IsActivation(activation)) {
    fields.Unsupported(name, absl::StrCat("must be one of ", absl::StrJoin(kActivations, ", ")));
  }
  return activation;
}

void CheckHeads(ConfigFields& fields, absl::string_view field, const ModelConfig& config) {
  if (config.hidden_size % config.head_count != 0) {
    fields.Bad(field, absl::StrCat("does not divide hidden_size ", config.hidden_size));
  }
}

void ReadSizes(ConfigFields& fields, ModelConfig& config) {
  config.hidden_size = fields.Int("hidden_size", 1, kMaxSize);
  config.layer_count = fields.Int("num_hidden_layers", 1, kMaxLayers);
  config.head_count = fields.Int("num_attention_heads", 1, kMaxSize);
  config.intermediate_size = fields.Int("intermediate_size", 1, kMaxSize);
  config.vocab_size = fields.Int("vocab_size", 1, kMaxVocabulary);
  config.position_count = fields.Int("max_position_embeddings", 1, kMaxVocabulary);
}

void ReadBertSizes(ConfigFields& fields, ModelConfig& config, double default_eps) {
  ReadSizes(fields, config);
  CheckHeads(fields, "num_attention_heads", config);
  config.segment_count = fields.Int("type_vocab_size", 0, kMaxSize, 2);
  config.norm_eps = fields.Number("layer_norm_eps", 0, default_eps);
  config.activation = ReadActivation(fields, "hidden_act", "gelu");
}

void RefuseVariants(ConfigFields& fields, bool decoder_aside) {
  if (fields.Bool("is_decoder", false)) {
    fields.Unsupported("is_decoder", "Heed runs encoders; a decoder's causal mask is not computed");
  }
  if (fields.Bool("is_encoder_decoder", false) && !decoder_aside) {
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

void ReadOverflow(ConfigFields& fields, EncodingConfig& encoding) {
  const std::string overflow = fields.String("position_overflow", "error");
  if (overflow == "interpolate") {
    encoding.options["beyond"] = overflow;
  } else if (overflow != "error") {
    fields.Bad("position_overflow", "is neither \"error\" nor \"interpolate\"");
  }
}

void ReadPositionType(ConfigFields& fields, ModelConfig& config, int64_t offset) {
  const std::string type = fields.String("position_embedding_type", "absolute");
  if (type == "absolute") {
    EncodingConfig encoding{"learned", {}, {}};
    if (offset > 0) encoding.options["offset"] = absl::StrCat(offset);
    ReadOverflow(fields, encoding);
    config.encodings = {encoding};
  } else if (type == "relative_key") {
    config.encodings = {{"shaw", {{"sign", "query_minus_key"}}, {}}};
    config.max_tokens = config.position_count;
  } else if (type == "relative_key_query") {
    config.encodings = {{"relative_key_query", {}, {}}};
    config.max_tokens = config.position_count;
  } else {
    fields.Unsupported("position_embedding_type",
                       "must be absolute, relative_key or relative_key_query");
  }
}

void SkipPads(ModelConfig& config, int64_t pad_token_id) {
  config.position_rule = PositionRule::kSkipPads;
  config.pad_token_id = pad_token_id;
}

HeadConfig SequenceHead(Pooling pooling, std::string dense, std::string activation,
                        std::string classifier) {
  HeadConfig head;
  head.pooling = pooling;
  head.dense = std::move(dense);
  head.dense_activation = std::move(activation);
  head.classifier = std::move(classifier);
  return head;
}

HeadConfig TokenHead(std::string classifier) {
  return SequenceHead(Pooling::kTokens, "", "", std::move(classifier));
}

void ReadHead(ConfigFields& fields, ConfigPurpose purpose, const std::vector<HeadClass>& classes,
              ModelConfig& config) {
  if (purpose == ConfigPurpose::kEncoder) {
    fields.Ignore({"num_labels", "id2label", "problem_type", "classifier_pooling", "head_file"});
    return;
  }
  std::string name = classes[0].name;  // transformers' own choice for a classifier
  if (fields.Has("architectures")) {
    const nlohmann::json& list = fields.Raw("architectures");
    if (!list.is_array() || list.size() != 1 || !list[0].is_string()) {
      fields.Bad("architectures", "is not a list of one name");
      return;
    }
    name = list[0].get<std::string>();
  }
  const auto found = std::find_if(classes.begin(), classes.end(),
                                  [&](const HeadClass& entry) { return entry.name == name; });
  if (found == classes.end()) {
    std::vector<std::string> names;
    for (const HeadClass& entry : classes) names.push_back(entry.name);
    fields.Unsupported("architectures", absl::StrCat("Heed serves ", absl::StrJoin(names, ", "),
                                                     "; a model without a trained classification "
                                                     "head cannot classify"));
    return;
  }
  config.head = found->head;
  ReadClassifierFields(fields, config);
}

void AddLinear(std::vector<WeightSpec>& specs, const std::string& role, const std::string& name,
               int64_t out, int64_t in, bool bias) {
  specs.push_back({role + ".weight", {name + ".weight"}, {out, in}});
  if (bias) specs.push_back({role + ".bias", {name + ".bias"}, {out}});
}

void AddNorm(std::vector<WeightSpec>& specs, const std::string& role, const std::string& name,
             int64_t width, bool bias) {
  specs.push_back({role + ".weight", {name + ".weight", name + ".gamma"}, {width}});
  if (bias) specs.push_back({role + ".bias", {name + ".bias", name + ".beta"}, {width}});
}

void AddBertEmbeddings(std::vector<WeightSpec>& specs, const ModelConfig& config) {
  const int64_t width = config.embedding_width();
  specs.push_back(
      {"embeddings.word", {"embeddings.word_embeddings.weight"}, {config.vocab_size, width}});
  if (config.segment_count > 0) {
    specs.push_back({"embeddings.segment",
                     {"embeddings.token_type_embeddings.weight"},
                     {config.segment_count, width}});
  }
  for (const EncodingConfig& encoding : config.encodings) {
    if (encoding.name == "learned") {
      specs.push_back({"positional.table",
                       {"embeddings.position_embeddings.weight"},
                       {config.position_count, width}});
    }
  }
  AddNorm(specs, "embeddings.norm", "embeddings.LayerNorm", width);
}

void AddDistanceTables(std::vector<WeightSpec>& specs, const ModelConfig& config,
                       const std::string& layer, const std::string& name) {
  for (const EncodingConfig& encoding : config.encodings) {
    if (encoding.name == "shaw" || encoding.name == "relative_key_query") {
      specs.push_back({layer + "positional.key_table",
                       {name + "distance_embedding.weight"},
                       {2 * config.position_count - 1, config.head_width()}});
    }
  }
}

void AddHead(std::vector<WeightSpec>& specs, const ModelConfig& config) {
  const HeadConfig& head = config.head;
  if (head.pooling == Pooling::kNone) return;
  const int64_t width = config.hidden_size;
  if (!head.dense.empty()) {
    AddLinear(specs, "head.dense", head.dense, width, width, head.dense_bias);
  }
  if (!head.norm.empty()) AddNorm(specs, "head.norm", head.norm, width, head.norm_bias);
  AddLinear(specs, "classifier", head.classifier, static_cast<int64_t>(config.labels.size()),
            width);
}

void AddLayers(std::vector<WeightSpec>& specs, const ModelConfig& config, const LayerNames& names,
               bool query_key_value_bias) {
  const int64_t width = config.hidden_size;
  for (int64_t i = 0; i < config.layer_count; ++i) {
    const std::string role = absl::StrCat("layers.", i, ".");
    const std::string name = absl::StrCat(names.layer, i, ".");
    for (const auto& [part, part_name] :
         {std::pair("query", names.query), std::pair("key", names.key),
          std::pair("value", names.value)}) {
      AddLinear(specs, absl::StrCat(role, "attention.", part), name + part_name, width, width,
                query_key_value_bias);
    }
    AddLinear(specs, role + "attention.output", name + names.attention_output, width, width);
    AddNorm(specs, role + "attention.norm", name + names.attention_norm, width);
    AddLinear(specs, role + "intermediate", name + names.intermediate, config.intermediate_size,
              width);
    AddLinear(specs, role + "output", name + names.output, width, config.intermediate_size);
    AddNorm(specs, role + "norm", name + names.norm, width);
    AddDistanceTables(specs, config, role, name + "attention.self.");
  }
}

std::vector<WeightSpec> BertWeights(const ModelConfig& config) {
  std::vector<WeightSpec> specs;
  AddBertEmbeddings(specs, config);
  AddLayers(specs, config, LayerNames());
  AddHead(specs, config);
  return specs;
}

std::vector<std::string> BertBuffers() {
  // The absolute table stays in the files of relative models, which do not read it.
  return {"embeddings.position_ids", "embeddings.token_type_ids",
          "embeddings.position_embeddings.weight"};
}

}  // namespace heed
